/** What an agent does when a mailbox answers. */
export const VOICEMAIL_ACTIONS = ['hang_up', 'leave_message', 'continue'] as const;
export type VoicemailAction = (typeof VOICEMAIL_ACTIONS)[number];
