import { PermanentError, RetryLaterError } from '../../kernel/errors.js';

/** All slots to dial in are taken for now. */
export class DialSlotTaken extends RetryLaterError {
  override readonly name = 'DialSlotTaken';

  /** @param ahead calls that are dialed before this one */
  constructor(ahead: number, afterMs: number) {
    super(`${ahead} calls are dialed before this one`, afterMs, true);
  }
}

/** A call waited for a slot as long as a call may wait. */
export class DialSlotTooLate extends PermanentError {
  override readonly name = 'DialSlotTooLate';

  constructor() {
    super('No dial slot came in time');
  }
}
