import { PermanentError } from '../kernel/errors.js';

/** A request to a carrier that was never sent: it would have left the account's own calls. Asking again cannot help. */
export class CarrierRequestRefused extends PermanentError {
  override readonly name = 'CarrierRequestRefused';

  constructor() {
    super('A request to the carrier was not sent: it would have reached something other than a call of the account.');
  }
}
