import { PermanentError } from '../kernel/errors.js';

/**
 * A request to a carrier was not sent because it would have addressed something other than the account's own calls.
 * Retrying cannot help.
 */
export class CarrierRequestRefused extends PermanentError {
  override readonly name = 'CarrierRequestRefused';

  constructor() {
    super('A request to the carrier was not sent: it would have reached something other than a call of the account.');
  }
}
