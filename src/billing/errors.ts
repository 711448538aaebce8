import { RetryLaterError } from '../kernel/errors.js';

/** A window of a call is held when its time has come. */
export class NotYetHeld extends RetryLaterError {
  override readonly name = 'NotYetHeld';

  constructor(afterMs: number) {
    super('The window is held when its time has come', afterMs, true);
  }
}
