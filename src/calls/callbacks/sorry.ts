import type { CallInstruction } from '../../telephony/callbacks.js';

/** For a call of which we cannot tell whether it is wanted, or that cannot go on. */
export const CANNOT_CONNECT: CallInstruction = {
  kind: 'apology',
  words: 'We are sorry, this call cannot be connected right now. Goodbye.',
};

/** For a call that was to be transferred to somebody who did not answer. */
export const NOBODY_THERE: CallInstruction = {
  kind: 'apology',
  words: 'We are sorry, nobody could be reached. Goodbye.',
};
