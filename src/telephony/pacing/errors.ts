import { PermanentError, RetryLaterError } from '../../kernel/errors.js';

/** Thrown when no dial slot is free yet. The activity is retried later. */
export class DialSlotTaken extends RetryLaterError {
  override readonly name = 'DialSlotTaken';

  /**
   * @param ahead number of calls that are dialed before this one
   * @param afterMs delay until the retry, in ms
   */
  constructor(ahead: number, afterMs: number) {
    super(`${ahead} calls are dialed before this one`, afterMs, true);
  }
}

/** Thrown when a call has waited the maximum time for a dial slot. */
export class DialSlotTooLate extends PermanentError {
  override readonly name = 'DialSlotTooLate';

  constructor() {
    super('No dial slot was free within the maximum waiting time');
  }
}
