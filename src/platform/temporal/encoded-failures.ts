import { DefaultFailureConverter } from '@temporalio/common';

/** Temporal's SDK loads this file by its path and this name, in workflows too. It reads failures of both kinds. */
export const failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true });
