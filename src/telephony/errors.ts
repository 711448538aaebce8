import { PermanentError } from '../kernel/errors.js';

/**
 * Thrown instead of sending a request to a carrier that would address anything but the account's calls. Retrying cannot
 * help.
 */
export class UnsafeCarrierRequest extends PermanentError {
  override readonly name = 'UnsafeCarrierRequest';

  constructor() {
    super('A carrier request was not sent because its URL does not address a call of the account.');
  }
}
