import { request as httpRequest } from 'node:http';
import { startService, type Service } from '../support/http/harness.js';
import { createBrowser, resetRateLimits, memberOf, PASSWORD } from '../support/http/portal-support.js';

/** The status when a body did not arrive in time. */
const TOO_LATE = 400;

let service: Service;
beforeAll(async () => {
  service = await startService({ worker: false });
});
afterAll(() => service.close());
beforeEach(() => resetRateLimits(service));

/** Sends the headers of a POST and the first bytes of its body. The server can respond only after the rest is sent. */
function heldBack(path: string, headers: Record<string, string>, body: object) {
  const text = JSON.stringify(body);
  const request = httpRequest(`${service.baseUrl}${path}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text), ...headers },
  });
  const status = new Promise<number>((resolve, reject) => {
    request.on('response', (response) => resolve(response.resume().statusCode ?? 0));
    request.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNRESET') resolve(TOO_LATE);
      else reject(error);
    });
  });
  request.write(text.slice(0, 3));
  return {
    finish(): Promise<number> {
      request.end(text.slice(3));
      return status;
    },
  };
}

/**
 * Returns the statuses of requests. On a busy machine the server may stop waiting for a body before its rest is sent,
 * with 400 or by closing the connection. Then the requests are made again.
 */
async function inTime(send: () => Promise<number[]>): Promise<number[]> {
  for (let tries = 1; ; tries += 1) {
    const statuses = await send();
    if (tries === 5 || !statuses.includes(TOO_LATE)) return statuses;
  }
}

const ownPage = (cookie: string) => ({ Cookie: cookie, 'Sec-Fetch-Site': 'same-origin' });
/** Waits long enough that the server has authenticated the sender and counts the body as slow. */
const heldForAWhile = () => new Promise((resolve) => setTimeout(resolve, 900));

describe('a delayed request body', () => {
  it('does not act for an API key that was revoked meanwhile', async () => {
    const statuses = await inTime(async () => {
      const { account, liveKey } = await service.customer();
      const authorized = { Authorization: `Bearer ${liveKey}` };
      const making = heldBack('/api_keys', authorized, { name: 'survivor', mode: 'live' });
      const calling = heldBack('/outbound_call', authorized, { to_phone_number: '+12025550100', instruction: 'Hi.' });
      await heldForAWhile();
      for (const { keyId } of await service.apiKeys.list(account._id)) await service.apiKeys.revoke(keyId);
      const answers = await Promise.all([making.finish(), calling.finish()]);
      expect((await service.apiKeys.list(account._id)).filter(({ name }) => name === 'survivor')).toEqual([]);
      return answers;
    });
    expect(statuses).toEqual([401, 401]);
    expect(await service.countCallRequests()).toBe(0);
  });

  it('does not act for a member who was removed or lost the role meanwhile', async () => {
    const owner = createBrowser(service);
    await owner.signUp();
    const removed = await memberOf(service, owner, 'owner');
    const lowered = await memberOf(service, owner, 'owner');
    const invitation = { email: 'friend@example.com', role: 'owner' };
    const byRemoved = heldBack('/portal/invitations', ownPage(removed.browser.cookie), invitation);
    const byLowered = heldBack('/portal/invitations', ownPage(lowered.browser.cookie), invitation);
    await heldForAWhile();
    expect((await owner.delete(`/portal/members/${removed.userId}`)).status).toBe(200);
    expect((await owner.patch(`/portal/members/${lowered.userId}`, { role: 'viewer' })).status).toBe(200);
    expect(await byRemoved.finish()).toBe(401);
    expect([401, 403]).toContain(await byLowered.finish());
    expect(await service.database.invitations.countDocuments({ email: invitation.email })).toBe(0);
  });

  it('does not set a password with a current password that was replaced meanwhile', async () => {
    const owner = createBrowser(service);
    const email = await owner.signUp();
    const thief = createBrowser(service);
    expect((await thief.post('/portal/log-in', { email, password: PASSWORD })).status).toBe(200);
    const change = { current_password: PASSWORD, new_password: 'the horse of a thief' };
    const thiefsChange = heldBack('/portal/password', ownPage(thief.cookie), change);
    await heldForAWhile();
    const replaced = { current_password: PASSWORD, new_password: 'another horse battery' };
    expect((await owner.post('/portal/password', replaced)).status).toBe(200);
    expect(await thiefsChange.finish()).toBe(401);
    expect((await owner.get('/portal/session')).status).toBe(200);
    expect((await thief.post('/portal/log-in', { email, password: change.new_password })).status).toBe(401);
  });
});
