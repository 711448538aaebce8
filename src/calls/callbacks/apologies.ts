import type { CallInstruction } from '../../telephony/callbacks.js';

/** Spoken when a call cannot be checked or cannot continue. */
export const CANNOT_CONNECT: CallInstruction = {
  kind: 'apology',
  text: 'We are sorry, this call cannot be connected right now. Goodbye.',
};

/** Spoken when the target of a transfer did not answer. */
export const TRANSFER_UNANSWERED: CallInstruction = {
  kind: 'apology',
  text: 'We are sorry, the other party did not answer. Goodbye.',
};
