import type { CallInstruction } from '../../telephony/callbacks.js';

/** Spoken when a call cannot be checked or cannot continue. */
export const CANNOT_CONNECT: CallInstruction = {
  kind: 'apology',
  words: 'We are sorry, this call cannot be connected right now. Goodbye.',
};

/** Spoken when the target of a transfer did not answer. */
export const NOBODY_THERE: CallInstruction = {
  kind: 'apology',
  words: 'We are sorry, nobody could be reached. Goodbye.',
};
