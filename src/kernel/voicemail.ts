/** What an agent does when a mailbox answers. */
export const VOICEMAIL_ACTIONS = ['hang_up', 'leave_message', 'continue'] as const;
export type VoicemailAction = (typeof VOICEMAIL_ACTIONS)[number];

/** What the carrier's detection of answering machines waits for: who answers, or the end of a machine's greeting. */
export type MachineDetection = 'answer' | 'message_end';

/**
 * How the carrier is to listen to an outbound call, by what the agent does with a mailbox: it hangs up as soon as one is
 * known, and speaks only after its tone. An agent that goes on either way needs no detection.
 */
export function machineDetectionFor(action: VoicemailAction = 'hang_up'): MachineDetection | undefined {
  if (action === 'continue') return undefined;
  return action === 'hang_up' ? 'answer' : 'message_end';
}
