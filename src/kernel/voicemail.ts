/** How an agent reacts when voicemail answers. */
export const VOICEMAIL_ACTIONS = ['hang_up', 'leave_message', 'continue'] as const;
export type VoicemailAction = (typeof VOICEMAIL_ACTIONS)[number];

/** When the carrier's answering machine detection reports: on answer, or at the end of the machine's greeting. */
export type MachineDetection = 'answer' | 'message_end';

/**
 * Chooses the answering machine detection for an outbound call. An agent that hangs up on voicemail needs the result on
 * answer; one that leaves a message must wait for the tone. An agent that continues either way needs none.
 */
export function machineDetectionFor(action: VoicemailAction = 'hang_up'): MachineDetection | undefined {
  if (action === 'continue') return undefined;
  return action === 'hang_up' ? 'answer' : 'message_end';
}
