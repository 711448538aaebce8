/** The action of an agent when voicemail answers. */
export const VOICEMAIL_ACTIONS = ['hang_up', 'leave_message', 'continue'] as const;
export type VoicemailAction = (typeof VOICEMAIL_ACTIONS)[number];

/** When the carrier reports the result of answering machine detection: on answer, or after the machine's greeting. */
export type MachineDetection = 'answer' | 'message_end';

/**
 * Chooses the answering machine detection for an outbound call. An agent that hangs up on voicemail needs the result on
 * answer. An agent that leaves a message must wait for the tone. An agent that continues when voicemail answers needs
 * no detection.
 */
export function machineDetectionFor(action: VoicemailAction = 'hang_up'): MachineDetection | undefined {
  if (action === 'continue') return undefined;
  return action === 'hang_up' ? 'answer' : 'message_end';
}
