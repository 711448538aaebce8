/** What an item on the line is for. */
export type ItemKind = 'introduction' | 'reply' | 'message' | 'filler' | 'reprompt' | 'closing';

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
