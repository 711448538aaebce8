import { Agent } from 'node:http';
import type { Twilio } from 'twilio';
import type RequestClient from 'twilio/lib/base/RequestClient.js';
import type { CarrierAccount } from '../../platform/config/config.js';
import { withoutTrailing } from '../../kernel/text.js';
import { CarrierRequestRefused } from '../errors.js';
import { CarrierError } from './errors.js';
import { ACCOUNT_SID, CALL_SID } from './identifiers.js';

/** Maximum duration of a request to the carrier, whatever the server does. */
export const REQUEST_TIMEOUT_MS = 10_000;

const API_VERSION = '2010-04-01';

/**
 * Creates the official Twilio client, redirected to the account's base URL and restricted to the account's own calls:
 * the client inserts identifiers into paths without encoding, and the URL parser then treats a backslash as a slash.
 * The module is imported on first use because it takes 125 ms and 24 MB that the API process does not need to spend.
 */
export async function createTwilioClient(account: CarrierAccount, timeoutMs = REQUEST_TIMEOUT_MS): Promise<Twilio> {
  const { default: twilio } = await import('twilio');
  class RedirectingClient extends twilio.RequestClient {
    constructor(options: RequestClient.RequestClientOptions) {
      super(options);
      // The client keeps connections alive for https only.
      this.axios.defaults.httpAgent = new Agent({ keepAlive: true, timeout: timeoutMs });
    }

    // Must be async: the client's paging never settles when a request throws synchronously.
    override async request<T>(options: RequestClient.RequestOptions<T>) {
      const uri = callsUrl(account, options.uri);
      return withinDeadline(super.request<T>({ ...options, uri }), timeoutMs);
    }
  }

  return twilio(account.carrierAccountId, account.authToken, {
    httpClient: new RedirectingClient({ timeout: timeoutMs }),
  });
}

/**
 * Maps the client's URL to the account's base URL. The URL is checked as text, before a parser can rewrite it, and
 * rebuilt from its parts.
 * @throws CarrierRequestRefused unless the URL is the list of the account's calls or one of them
 */
function callsUrl(account: CarrierAccount, asked: string): string {
  const prefix = `/${API_VERSION}/Accounts/${account.carrierAccountId}/Calls`;
  const [, path = ''] = /^https:\/\/[a-z0-9.-]+(\/.*)$/.exec(asked) ?? [];
  const [, callSid] = /^\/(.+)\.json$/.exec(path.slice(prefix.length)) ?? [];
  const isList = path === `${prefix}.json`;
  const isCall = path.startsWith(prefix) && callSid !== undefined && CALL_SID.test(callSid);
  if (!ACCOUNT_SID.test(account.carrierAccountId) || !(isList || isCall)) throw new CarrierRequestRefused();
  const segments = [API_VERSION, 'Accounts', account.carrierAccountId, 'Calls', ...(isCall ? [callSid] : [])];
  return `${withoutTrailing(account.baseUrl, '/')}/${segments.map(encodeURIComponent).join('/')}.json`;
}

/** The client's timeout only covers silence; a response that trickles in would never time out. */
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
