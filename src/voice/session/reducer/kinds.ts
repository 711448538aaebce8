/** The purpose of an item on the line. */
export type ItemKind = 'introduction' | 'reply' | 'message' | 'filler' | 'reprompt' | 'closing';

/** The purpose of a reply: an LLM infers it from its chat history, a script receives it. */
export type ReplyTask =
  /** The agent must introduce itself first, whatever else there is to answer. */
  | 'introduce'
  /** The stream was lost and is back. */
  | 'resume'
  | 'answer'
  | 'digits'
  /** The caller asked nothing: the agent continues. */
  | 'go_on'
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
