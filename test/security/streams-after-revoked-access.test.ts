import { startService, type Customer, type Service } from '../support/http/harness.js';
import { managementOf } from '../support/http/management-support.js';
import { createBrowser, resetRateLimits, memberOf, PASSWORD, type Browser } from '../support/http/portal-support.js';

/** The service checks access every 5 s. The test waits longer, because other tests share this machine. */
const ENDS_WITHIN_MS = 15_000;

let service: Service;
let customer: Customer;
beforeAll(async () => {
  service = await startService({ worker: false });
  customer = await service.customer();
});
afterAll(() => service.close());
beforeEach(() => resetRateLimits(service));

/** Creates a call in progress that lasts longer than any of these tests. */
async function runningCall(of: Pick<Customer, 'account' | 'agent'> = customer): Promise<string> {
  const callId = await managementOf(service).endedCall(of as Customer);
  await service.database.calls.updateOne({ _id: callId }, { $set: { status: 'IN_PROGRESS' } });
  return callId;
}

/** Opens the event stream of a call. Returns functions that tell how the stream ended. */
async function watch(path: string, headers: Record<string, string>) {
  const giveUp = new AbortController();
  const response = await fetch(`${service.baseUrl}${path}`, { headers, signal: giveUp.signal });
  expect(response.status).toBe(200);
  let text = '';
  const decoder = new TextDecoder();
  const ended = (async () => {
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) text += decoder.decode(chunk);
    return 'ended';
  })().catch(() => 'broken');
  const late = () => new Promise<string>((resolve) => setTimeout(() => resolve('still open'), ENDS_WITHIN_MS));
  return {
    /** Returns how the stream ended, and its last event. */
    async outcome(): Promise<{ end: string; last: string }> {
      const end = await Promise.race([ended, late()]);
      giveUp.abort();
      const events = text.split('\n\n').filter((event) => event !== '');
      return { end, last: events.at(-1) ?? '' };
    },
    isOpenAfter: async (ms: number) =>
      (await Promise.race([ended, new Promise((resolve) => setTimeout(() => resolve('open'), ms))])) === 'open',
    close: () => giveUp.abort(),
  };
}

const withKey = (key: string) => ({ Authorization: `Bearer ${key}` });
const withSession = ({ cookie }: Browser) => ({ Cookie: cookie });

function expectEnded({ end, last }: { end: string; last: string }, code: string): void {
  expect({ end, last }).toEqual({ end: 'ended', last: expect.stringMatching(/^event: end\ndata: \{/) as string });
  expect(JSON.parse(last.slice('event: end\ndata: '.length))).toMatchObject({ success: false, error_code: code });
}

describe('the event stream of a call ends soon after', () => {
  const newKey = (expiresAt?: Date) =>
    service.apiKeys.create({
      accountId: customer.account._id,
      mode: 'live',
      name: 'watcher',
      ...(expiresAt === undefined ? {} : { expiresAt }),
    });

  it('its API key was revoked, while streams of other keys stay open', async () => {
    const { secret, key } = await newKey();
    const path = `/calls/${await runningCall()}/events`;
    const [revoked, other] = [await watch(path, withKey(secret)), await watch(path, withKey(customer.liveKey))];
    await service.apiKeys.revoke(key.keyId);
    expectEnded(await revoked.outcome(), 'UNAUTHORIZED');
    expect(await other.isOpenAfter(100)).toBe(true);
    other.close();
  });

  it('its API key expired', async () => {
    const { secret } = await newKey(new Date(Date.now() + 4_000));
    const stream = await watch(`/calls/${await runningCall()}/events`, withKey(secret));
    expectEnded(await stream.outcome(), 'UNAUTHORIZED');
  });

  it('its account was deleted', async () => {
    const gone = await service.customer();
    const stream = await watch(`/calls/${await runningCall(gone)}/events`, withKey(gone.liveKey));
    await service.database.accounts.deleteOne({ _id: gone.account._id });
    expectEnded(await stream.outcome(), 'UNAUTHORIZED');
  });

  it('its member logged out, was removed, or changed the password', async () => {
    const owner = createBrowser(service);
    await owner.signUp();
    const accountId = String(((await owner.get('/account')).json as { account_id?: string }).account_id);
    const agent = customer.agent;
    const account = { ...customer.account, _id: accountId };
    const path = `/calls/${await runningCall({ account, agent })}/events?mode=live`;
    const [out, removed, changed] = [
      await memberOf(service, owner, 'viewer'),
      await memberOf(service, owner, 'viewer'),
      await memberOf(service, owner, 'developer'),
    ];
    const streams = [];
    for (const { browser } of [out, removed, changed]) streams.push(await watch(path, withSession(browser)));
    const stays = await watch(path, withSession(owner));
    expect((await out.browser.post('/portal/log-out')).status).toBe(200);
    expect((await owner.delete(`/portal/members/${removed.userId}`)).status).toBe(200);
    const passwords = { current_password: PASSWORD, new_password: 'another horse battery' };
    expect((await changed.browser.post('/portal/password', passwords)).status).toBe(200);
    for (const outcome of await Promise.all(streams.map((stream) => stream.outcome()))) {
      expectEnded(outcome, 'UNAUTHORIZED');
    }
    expect(await stays.isOpenAfter(100)).toBe(true);
    stays.close();
  });

  it('the call was erased', async () => {
    const callId = await runningCall();
    const stream = await watch(`/calls/${callId}/events`, withKey(customer.liveKey));
    await service.database.calls.updateOne({ _id: callId }, { $set: { status: 'COMPLETED', erasedAt: new Date() } });
    const { end, last } = await stream.outcome();
    expect(end).toBe('ended');
    expect(last).toContain('"erased_at"');
  });

  it('the call was deleted', async () => {
    const callId = await runningCall();
    const stream = await watch(`/calls/${callId}/events`, withKey(customer.liveKey));
    await service.database.calls.deleteOne({ _id: callId });
    expectEnded(await stream.outcome(), 'CALL_NOT_FOUND');
  });
});
