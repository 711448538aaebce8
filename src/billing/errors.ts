import { RetryLaterError } from '../kernel/errors.js';

/** Asks for a retry once a call's next hold window is due. */
export class NotYetHeld extends RetryLaterError {
  override readonly name = 'NotYetHeld';

  constructor(afterMs: number) {
    super('The window is held when its time has come', afterMs, true);
  }
}
