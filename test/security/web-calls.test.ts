import { legIdOf } from '../../src/telephony/web/leg.js';
import { openBrowserLine } from '../integration/web/browser-line';
import { useWebStack, type WebStack } from '../integration/web/web-stack';
import { expectError, type Customer } from '../support/http/harness.js';

jest.setTimeout(120_000);

let stack: WebStack;
let customer: Customer;
useWebStack((started) => ({ stack, customer } = started), {
  env: { WEB_CALL_ORIGINS: 'https://app.example.com' },
});
beforeAll(() => stack.service.accounts.setLimits(customer.account._id, { concurrentCalls: 50 }));

const REJECTED = { reason: 'rejected', code: 1008 };

describe('the token of a call in the browser', () => {
  it('admits one socket only, also when two come at once', async () => {
    const call = await stack.create(customer.liveKey);
    const lines = await Promise.all([openBrowserLine(call), openBrowserLine(call)]);
    const outcomes = await Promise.all(
      lines.map((line) => Promise.race([line.ready().then(() => 'ready'), line.closed()])),
    );
    // The other one may come again, because the first one may be lost before it is admitted.
    expect(outcomes).toEqual(expect.arrayContaining(['ready', { reason: 'reconnect', code: 1013 }]));
    await stack.tokenUsedUp(call.callId);
    const third = await openBrowserLine(call);
    expect(await third.closed()).toEqual(REJECTED);
    for (const line of lines) line.closeTab();
  });

  it('for a reconnection admits one socket only', async () => {
    const call = await stack.talk(customer.liveKey);
    const token = call.line.reconnectToken();
    const second = await stack.reopen(call, token);
    await second.ready();
    await stack.tokenUsedUp(call.callId);
    const third = await stack.reopen(call, token);
    expect(await third.closed()).toEqual(REJECTED);
    second.closeTab();
  });

  it('does not admit to a call of another account or mode', async () => {
    const other = await stack.service.customer();
    const [own, foreign, test] = await Promise.all([
      stack.create(customer.liveKey),
      stack.create(other.liveKey),
      stack.create(customer.testKey),
    ]);
    for (const { token } of [foreign, test]) {
      expect(await (await openBrowserLine({ url: own.url, token })).closed()).toEqual(REJECTED);
    }
  });

  it('is not looked up when it is forged', async () => {
    const call = await stack.create(customer.liveKey);
    const find = jest.spyOn(stack.service.database.webLegs, 'findById');
    const forged = Buffer.from(call.token, 'base64url');
    forged[31] = (forged[31] ?? 0) ^ 1;
    expect(await (await openBrowserLine({ url: call.url, token: forged.toString('base64url') })).closed()).toEqual(
      REJECTED,
    );
    expect(find).not.toHaveBeenCalledWith(legIdOf(call.callId));
    find.mockRestore();
  });

  it('is not looked up again when it was rejected', async () => {
    const call = await stack.create(customer.liveKey);
    const line = await openBrowserLine(call);
    await line.ready();
    await stack.tokenUsedUp(call.callId);
    expect(await (await openBrowserLine(call)).closed()).toEqual(REJECTED);
    const find = jest.spyOn(stack.service.database.webLegs, 'findById');
    expect(await (await openBrowserLine(call)).closed()).toEqual(REJECTED);
    expect(find).not.toHaveBeenCalledWith(legIdOf(call.callId));
    find.mockRestore();
    line.closeTab();
  });

  it('must come within 2 s, in the first message', async () => {
    const call = await stack.create(customer.liveKey);
    const silent = await openBrowserLine({ url: call.url });
    const hasty = await openBrowserLine({ url: call.url });
    hasty.say({ event: 'digits', digits: '1' });
    expect(await hasty.closed()).toEqual(REJECTED);
    expect(await silent.closed()).toEqual(REJECTED);
  });
});

describe('the socket of a call in the browser', () => {
  it.each([
    ['text that is not JSON', 'noise', 1007],
    ['an unknown event', '{"event":"later"}', 1007],
    ['an unknown field', '{"event":"stop","now":true}', 1007],
    ['a second start', JSON.stringify({ event: 'start', token: 'a' }), 1008],
    ['audio that is too long', JSON.stringify({ event: 'media', timestamp: 0, payload: 'A'.repeat(2_400) }), 1007],
    ['a message of more than 16 kB', JSON.stringify({ event: 'text', text: 'a'.repeat(17_000) }), 1009],
  ])('is closed after %s', async (_what, text, code) => {
    const { line } = await stack.talk(customer.testKey);
    line.sayRaw(text);
    expect(await line.closed()).toEqual({ reason: 'rejected', code });
  });

  it('opens for pages of this service, of configured origins, and for clients without one', async () => {
    const { publicBaseUrl } = stack.service.config;
    for (const origin of [publicBaseUrl, 'https://app.example.com', undefined]) {
      const call = await stack.create(customer.testKey);
      const line = await openBrowserLine({ ...call, ...(origin === undefined ? {} : { origin }) });
      expect(await line.ready()).toMatchObject({ call_id: call.callId });
      line.closeTab();
      await stack.ended(call.callId);
    }
  });

  it.each(['https://evil.example.com', 'null', 'https://app.example.com.evil.example.com'])(
    'does not open for a page of %s',
    async (origin) => {
      const { url } = await stack.create(customer.liveKey);
      await expect(openBrowserLine({ url, origin })).rejects.toThrow('403');
    },
  );
});

describe('a request for a call in the browser', () => {
  const instruction = 'Ask for the day.';

  it('is rejected without money for a minute', async () => {
    const poor = await stack.service.customer(100_000);
    expectError(await stack.request(poor.liveKey, { instruction }), 402, 'INSUFFICIENT_BALANCE');
    expect(await stack.service.database.webLegs.countDocuments({ accountId: poor.account._id })).toBe(0);
  });

  it('is rejected for an agent of another account', async () => {
    const other = await stack.service.customer();
    expectError(await stack.request(customer.liveKey, { agent_id: other.agent._id }), 404, 'AGENT_NOT_FOUND');
  });

  it('is rejected beyond the concurrent calls of the account, also before a browser connects', async () => {
    const busy = await stack.service.customer();
    await stack.service.accounts.setLimits(busy.account._id, { concurrentCalls: 2 });
    await stack.create(busy.liveKey);
    expectError(await stack.request(busy.liveKey, { instruction }), 429, 'CONCURRENCY_LIMIT_EXCEEDED');
  });

  it('has the limits of an unverified account', async () => {
    const fresh = await stack.service.customer();
    await stack.service.accounts.setLimits(fresh.account._id, { concurrentCalls: 50 });
    await stack.service.database.accounts.updateOne({ _id: fresh.account._id }, { $set: { unverified: true } });
    const responses = [];
    for (let n = 0; n < 4; n++) responses.push(await stack.request(fresh.testKey, { instruction }));
    const last = responses.at(-1)!;
    expect(responses[0]?.status).toBe(200);
    expectError(last, 429, 'CONCURRENCY_LIMIT_EXCEEDED');
  });

  it('is rejected when the account has spent its limit of the day', async () => {
    const spent = await stack.service.customer();
    await stack.service.accounts.setLimits(spent.account._id, { dailySpendCapMicros: 100_000 });
    expectError(await stack.request(spent.liveKey, { instruction }), 403, 'SPEND_LIMIT_EXCEEDED');
  });

  it.each([
    ['neither an agent nor an instruction', {}],
    ['an unknown field', { instruction, to_phone_number: '+12025550100' }],
    ['a webhook that is not HTTP', { instruction, webhook_url: 'ftp://example.com' }],
  ])('is rejected with %s', async (_what, body) => {
    expectError(await stack.request(customer.liveKey, body), 400, 'MISSING_PARAMS');
  });
});
