import { PermanentError } from '../kernel/errors.js';

/** A call's request is not in the database. */
export class CallRequestMissing extends PermanentError {
  override readonly name = 'CallRequestMissing';

  constructor() {
    super('The call was never asked for');
  }
}
