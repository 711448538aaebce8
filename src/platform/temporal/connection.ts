import { Connection } from '@temporalio/client';
import type { Config } from '../config/config.js';

/** Returns how every client and worker connects to Temporal. */
export function connectionOptions({ address, tls, apiKey }: Config['temporal']) {
  return { address, tls, ...(apiKey === undefined ? {} : { apiKey }) };
}

/**
 * A connection that costs nothing between its requests.
 *
 * Temporal's client keeps a request's deadline in an `AsyncLocalStorage`. On Node 20, the first use turns on hooks that
 * run for every promise and callback of the process, and they stay on. This turns them off when the last request with a
 * deadline ends.
 */
export class QuietConnection extends Connection {
  #requests = 0;

  override async withDeadline<Result>(deadline: number | Date, request: () => Promise<Result>): Promise<Result> {
    this.#requests += 1;
    try {
      return await super.withDeadline(deadline, request);
    } finally {
      this.#requests -= 1;
      if (this.#requests === 0) this.callContextStorage.disable();
    }
  }
}
