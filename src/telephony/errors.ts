import { PermanentError } from '../kernel/errors.js';

/**
 * Thrown when a request to a carrier was not sent, because its URL names something other than the calls of the account.
 * Retrying cannot help.
 */
export class UnsafeCarrierRequest extends PermanentError {
  override readonly name = 'UnsafeCarrierRequest';

  constructor() {
    super('A carrier request was not sent because its URL does not address a call of the account.');
  }
}
