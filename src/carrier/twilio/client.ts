import { Agent } from 'node:http';
import type { Twilio } from 'twilio';
import type RequestClient from 'twilio/lib/base/RequestClient.js';
import type { CarrierAccount } from '../../config.js';
import { withoutTrailing } from '../../domain/text.js';
import { CarrierError } from './errors.js';

/** No request to the carrier takes longer, whatever its server does. */
export const REQUEST_TIMEOUT_MS = 10_000;

/**
 * The carrier's own client, sending to the account's base URL. Loaded on first use: it costs 125 ms and 24 MB that the
 * API process need not pay.
 */
export async function createClient(account: CarrierAccount, timeoutMs = REQUEST_TIMEOUT_MS): Promise<Twilio> {
  const { default: twilio } = await import('twilio');
  class RedirectingClient extends twilio.RequestClient {
    constructor(options: RequestClient.RequestClientOptions) {
      super(options);
      // The client keeps connections alive for https only.
      this.axios.defaults.httpAgent = new Agent({ keepAlive: true, timeout: timeoutMs });
    }

    // Async on purpose: the client's paging never settles when a request throws synchronously.
    override async request<T>(options: RequestClient.RequestOptions<T>) {
      const url = new URL(options.uri);
      const uri = withoutTrailing(account.baseUrl, '/') + url.pathname + url.search;
      return withinDeadline(super.request<T>({ ...options, uri }), timeoutMs);
    }
  }

  return twilio(account.accountSid, account.authToken, {
    httpClient: new RedirectingClient({ timeout: timeoutMs }),
  });
}

/** The client's timeout watches for silence only; an answer that drips would be waited for without end. */
async function withinDeadline<T>(request: Promise<T>, timeoutMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new CarrierError('ETIMEDOUT', undefined)), timeoutMs);
  });
  try {
    return await Promise.race([request, deadline]);
  } finally {
    clearTimeout(timer);
  }
}
