import { Agent } from 'node:http';
import type { Twilio } from 'twilio';
import type RequestClient from 'twilio/lib/base/RequestClient.js';
import type { CarrierAccount } from '../../platform/config/config.js';
import { withoutTrailing } from '../../kernel/text.js';
import { UnsafeCarrierRequest } from '../errors.js';
import { CarrierError } from './errors.js';
import { ACCOUNT_SID, CALL_SID } from './identifiers.js';

/** Maximum duration of a request to the carrier, even if the server keeps sending data. */
export const REQUEST_TIMEOUT_MS = 10_000;

const API_VERSION = '2010-04-01';

/**
 * Creates the official Twilio client, which then uses the account's base URL and can access only the account's calls.
 * The restriction is needed because the client inserts identifiers into paths without encoding, and the URL parser
 * treats a backslash as a slash. The module is imported on first use, because it takes 125 ms and 24 MB, which the API
 * process can save.
 */
export async function createTwilioClient(account: CarrierAccount, timeoutMs = REQUEST_TIMEOUT_MS): Promise<Twilio> {
  const { default: twilio } = await import('twilio');
  class RedirectingClient extends twilio.RequestClient {
    constructor(options: RequestClient.RequestClientOptions) {
      super(options);
      // By default, the client keeps connections open for https only.
      this.axios.defaults.httpAgent = new Agent({ keepAlive: true, timeout: timeoutMs });
    }

    // This must be async, because the client's paging never settles when a request throws synchronously.
    override async request<T>(options: RequestClient.RequestOptions<T>) {
      const uri = callsUrl(account, options.uri);
      return withinDeadline(super.request<T>({ ...options, uri }), timeoutMs);
    }
  }

  const { sid, secret } = account.apiKey ?? { sid: account.carrierAccountId, secret: account.authToken };
  return twilio(sid, secret, {
    accountSid: account.carrierAccountId,
    httpClient: new RedirectingClient({ timeout: timeoutMs }),
  });
}

/**
 * Maps the client's URL to the account's base URL. The URL is checked as text, before a parser can change it, and then
 * built again from its parts.
 * @throws UnsafeCarrierRequest unless the URL is the list of the account's calls or one of them
 */
function callsUrl(account: CarrierAccount, requestUrl: string): string {
  const prefix = `/${API_VERSION}/Accounts/${account.carrierAccountId}/Calls`;
  const [, path = ''] = /^https:\/\/[a-z0-9.-]+(\/.*)$/.exec(requestUrl) ?? [];
  const [, callSid] = /^\/(.+)\.json$/.exec(path.slice(prefix.length)) ?? [];
  const isList = path === `${prefix}.json`;
  const isCall = path.startsWith(prefix) && callSid !== undefined && CALL_SID.test(callSid);
  if (!ACCOUNT_SID.test(account.carrierAccountId) || !(isList || isCall)) throw new UnsafeCarrierRequest();
  const segments = [API_VERSION, 'Accounts', account.carrierAccountId, 'Calls', ...(isCall ? [callSid] : [])];
  return `${withoutTrailing(account.baseUrl, '/')}/${segments.map(encodeURIComponent).join('/')}.json`;
}

/** Limits the total time. The client's own timeout only covers silence, not a response that arrives byte by byte. */
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
