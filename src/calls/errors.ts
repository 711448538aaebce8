import { PermanentError } from '../kernel/errors.js';

/** The call's request is not in the database; a retry cannot help. */
export class CallRequestMissing extends PermanentError {
  override readonly name = 'CallRequestMissing';

  constructor() {
    super('The call was never asked for');
  }
}
