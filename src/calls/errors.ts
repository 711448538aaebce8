import { PermanentError } from '../kernel/errors.js';

/** The database has no request for the call. Retrying cannot help. */
export class CallRequestMissing extends PermanentError {
  override readonly name = 'CallRequestMissing';

  constructor() {
    super('The call has no stored request');
  }
}
