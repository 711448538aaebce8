/** The purpose of an item of the agent's speech. */
export type ItemKind = 'introduction' | 'reply' | 'message' | 'filler' | 'reprompt' | 'closing';

/** The purpose of a reply. The offline engine's script needs it; an LLM infers it from its chat history. */
export type ReplyTask =
  /** The agent must introduce itself before it answers anything. */
  | 'introduce'
  /** The stream was lost, and a new one continues the call. */
  | 'resume'
  | 'answer'
  | 'digits'
  /** The agent continues although the caller asked nothing. */
  | 'continue'
  /** The call will be ended soon. */
  | 'wrap_up'
  | 'leave_message';

export const SESSION_TIMERS = [
  'turn',
  'barge_in',
  'silence',
  'dtmf',
  'reply',
  'filler',
  'voicemail',
  'closing',
  'playback',
] as const;
export type SessionTimer = (typeof SESSION_TIMERS)[number];
