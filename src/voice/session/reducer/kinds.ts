/** What an item on the line is for. */
export type ItemKind = 'introduction' | 'reply' | 'message' | 'filler' | 'reprompt' | 'closing';

/** What a reply is for: a model reads it from what it was told, a script is asked. */
export type ReplyTask =
  /** The agent has not been introduced yet, whatever else there is to answer. */
  | 'introduce'
  /** The stream was lost and is back. */
  | 'resume'
  | 'answer'
  | 'digits'
  /** Nothing was asked: the agent takes its thread up again. */
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
