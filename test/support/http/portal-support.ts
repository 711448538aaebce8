import { randomUUID } from 'node:crypto';
import { PUBLIC_BASE_URL, type ServiceResponse, type Service } from './harness.js';

export const PASSWORD = 'correct horse battery';

/** A browser on a page of the portal. It stores the session cookie and sends Sec-Fetch-Site. */
export function createBrowser(service: Service) {
  let cookie = '';
  const browser = {
    get cookie() {
      return cookie;
    },
    set cookie(value: string) {
      cookie = value;
    },
    async send(
      method: string,
      path: string,
      body: unknown = {},
      headers: Record<string, string> = {},
    ): Promise<ServiceResponse> {
      const changes = method !== 'GET';
      const response = await service.request(path, {
        method,
        headers: {
          ...(cookie === '' ? {} : { Cookie: cookie }),
          ...(changes ? { 'Content-Type': 'application/json', 'Sec-Fetch-Site': 'same-origin' } : {}),
          ...headers,
        },
        ...(changes ? { body: JSON.stringify(body) } : {}),
      });
      for (const set of response.headers.getSetCookie()) cookie = set.split(';')[0] ?? '';
      if (cookie.endsWith('=')) cookie = '';
      return response;
    },
    get: (path: string) => browser.send('GET', path),
    post: (path: string, body?: unknown) => browser.send('POST', path, body),
    patch: (path: string, body?: unknown) => browser.send('PATCH', path, body),
    delete: (path: string) => browser.send('DELETE', path),

    /** Signs up a new account and logs its owner in. @returns the owner's email address */
    async signUp(email = `${randomUUID()}@example.com`): Promise<string> {
      const person = { email, password: PASSWORD, name: 'Ada', account_name: 'Acme' };
      const { status, text } = await browser.post('/portal/sign-up', person);
      if (status !== 200) throw new Error(`The sign-up was answered with ${status}: ${text}`);
      return email;
    },
  };
  return browser;
}

export type Browser = ReturnType<typeof createBrowser>;

/** Invites a new member with this role to the owner's account. Accepts the invitation as the member. */
export async function memberOf(service: Service, owner: Browser, role: 'owner' | 'developer' | 'viewer') {
  const email = `${randomUUID()}@example.com`;
  const { json } = await owner.post('/portal/invitations', { email, role });
  const member = createBrowser(service);
  const joined = await member.post('/portal/accept-invitation', {
    token: json['token'],
    name: 'Grace',
    password: PASSWORD,
  });
  if (joined.status !== 200) throw new Error(`The invitation was answered with ${joined.status}: ${joined.text}`);
  return { browser: member, email, userId: String((joined.json['member'] as { user_id: string }).user_id) };
}

/** Resets the rate limits, because tests create more accounts from one IP address than the limits allow. */
export async function resetRateLimits(service: Service): Promise<void> {
  await service.database.rateLimits.deleteMany({});
}

export const ORIGIN = new URL(PUBLIC_BASE_URL).origin;
