import { startBench, until, type Bench } from './support/simulator.js';

const number = '+12025550107';
let bench: Bench;
beforeAll(async () => {
  bench = await startBench();
});
afterAll(() => bench.close());

const base = () => `/2010-04-01/Accounts/${bench.config.carriers.test.carrierAccountId}/Calls`;
const basic = (user: string, password: string) => `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;

async function request(method: string, path: string, form?: Record<string, string>, authorization?: string) {
  const { carrierAccountId, authToken } = bench.config.carriers.test;
  const response = await fetch(`${bench.url}${path}`, {
    method,
    headers: { authorization: authorization ?? basic(carrierAccountId, authToken) },
    ...(form === undefined ? {} : { body: new URLSearchParams(form) }),
  });
  const text = await response.text();
  return { status: response.status, body: (text === '' ? {} : JSON.parse(text)) as Record<string, unknown> };
}

const call = (more: Record<string, string> = {}) => ({
  To: number,
  From: '+15005550006',
  Twiml: '<Response><Pause length="30"/></Response>',
  ...more,
});

async function placeCall(more: Record<string, string> = {}): Promise<string> {
  const answer = await request('POST', `${base()}.json`, call(more));
  expect(answer.status).toBe(201);
  return String(answer.body['sid']);
}

describe('create', () => {
  it('returns the 26 fields of a call', async () => {
    const { body } = await request('POST', `${base()}.json`, call());
    expect(Object.keys(body)).toHaveLength(26);
    expect(body).toMatchObject({
      account_sid: bench.config.carriers.test.carrierAccountId,
      to: number,
      to_formatted: '(202) 555-0107',
      status: 'queued',
      direction: 'outbound-api',
      start_time: null,
      duration: null,
      price: null,
      uri: `${base()}/${String(body['sid'])}.json`,
    });
    const { subresource_uris: links, ...scalars } = body;
    expect(Object.keys(links as object)).toHaveLength(9);
    expect(Object.values(scalars).every((value) => value === null || typeof value === 'string')).toBe(true);
  });

  it.each([
    ['no To', { To: '' }, 21201],
    ['no From', { From: '' }, 21213],
    ['an invalid To', { To: 'abc' }, 21211],
    ['an invalid From', { From: 'abc' }, 21212],
    ['a From that is not ours', { From: '+15005550009' }, 21210],
    ['no instructions', { Twiml: '' }, 21205],
    ['an invalid Url', { Url: 'x' }, 21205],
    ['a ring time of 0', { Timeout: '0' }, 21208],
    ['a time limit below a minute', { TimeLimit: '59' }, 20001],
    ['a time limit above a day', { TimeLimit: '86401' }, 20001],
    ['an unknown event', { StatusCallback: 'http://127.0.0.1/', StatusCallbackEvent: 'x' }, 21626],
    ['a magic number', { To: '+15005550003' }, 21215],
  ])('rejects %s', async (_, more, code) => {
    expect(await request('POST', `${base()}.json`, call(more))).toEqual({
      status: 400,
      body: {
        code,
        message: expect.any(String),
        more_info: `https://www.twilio.com/docs/errors/${code}`,
        status: 400,
      },
    });
  });
});

describe('authentication', () => {
  it('requires the credentials of the account', async () => {
    const { carrierAccountId, authToken } = bench.config.carriers.test;
    const path = `${base()}.json`;
    expect(await request('GET', path, undefined, 'Bearer x')).toMatchObject({ status: 401, body: { code: 20003 } });
    expect(await request('GET', path, undefined, basic(carrierAccountId, 'x'))).toMatchObject({ status: 401 });
    expect(await request('GET', path, undefined, basic(carrierAccountId, authToken))).toMatchObject({ status: 200 });
  });

  it('accepts an API key until it is revoked', async () => {
    const created = await bench.control('/api-keys', { mode: 'test' });
    const { sid, secret } = created.body as { sid: string; secret: string };
    expect(created.status).toBe(201);
    expect(sid).toMatch(/^SK[0-9a-f]{32}$/);
    const path = `${base()}.json`;
    expect(await request('GET', path, undefined, basic(sid, secret))).toMatchObject({ status: 200 });
    expect(await request('GET', path, undefined, basic(sid, 'x'))).toMatchObject({
      status: 401,
      body: { code: 20003 },
    });
    expect(await bench.control(`/api-keys/${sid}/revoke`, {})).toMatchObject({ status: 200 });
    expect(await request('GET', path, undefined, basic(sid, secret))).toMatchObject({ status: 401 });
    expect(await bench.control(`/api-keys/${sid}/revoke`, {})).toMatchObject({ status: 404 });
    expect(await bench.control('/api-keys', { mode: 'other' })).toMatchObject({ status: 400 });
  });

  it("hides another account's calls", async () => {
    const sid = await placeCall();
    const { carrierAccountId, authToken } = bench.config.carriers.live;
    const live = basic(carrierAccountId, authToken);
    expect(await request('GET', `${base()}/${sid}.json`, undefined, live)).toMatchObject({
      status: 404,
      body: { code: 20404 },
    });
    const path = `${base()}/${sid}.json`.replace(bench.config.carriers.test.carrierAccountId, carrierAccountId);
    expect(await request('GET', path, undefined, live)).toMatchObject({ status: 404 });
    expect(await request('GET', `${base()}/${sid}.json`)).toMatchObject({ status: 200 });
  });

  it('has no other resources', async () => {
    expect(await request('GET', '/2010-04-01/Accounts.json')).toMatchObject({ status: 404, body: { code: 20404 } });
    expect(await request('PUT', `${base()}.json`)).toMatchObject({ status: 405 });
  });
});

describe('update', () => {
  it('rejects an unknown status, and every change after the call has ended', async () => {
    const sid = await placeCall();
    const path = `${base()}/${sid}.json`;
    expect(await request('POST', path, { Status: 'busy' })).toMatchObject({ status: 400, body: { code: 21218 } });
    expect(await request('POST', path, { Status: 'completed' })).toMatchObject({
      status: 200,
      body: { status: 'canceled' },
    });
    expect(await request('POST', path, { Status: 'completed' })).toMatchObject({ status: 400, body: { code: 21220 } });
    expect(await request('POST', path, { TimeLimit: '90' })).toMatchObject({ status: 400, body: { code: 21220 } });
    expect(await request('DELETE', path)).toMatchObject({ status: 204 });
    expect(await request('GET', path)).toMatchObject({ status: 404 });
  });

  it('gives a call in progress new instructions, and ignores canceled', async () => {
    const sid = await placeCall();
    const path = `${base()}/${sid}.json`;
    expect(await request('POST', path, { Twiml: '<Response/>' })).toMatchObject({ status: 400, body: { code: 21220 } });
    await until(async () => (await bench.getCall(sid)).status === 'in-progress');
    expect(await request('DELETE', path)).toMatchObject({ status: 409 });
    expect(await request('POST', path, { Status: 'canceled' })).toMatchObject({ body: { status: 'in-progress' } });
    await request('POST', path, { Twiml: '<Response><Hangup/></Response>' });
    expect(await bench.waitForEnd(sid)).toMatchObject({ status: 'completed', duration_seconds: 1 });
  });
});

describe('list', () => {
  it('pages newest first by links, without shifting when calls are placed meanwhile', async () => {
    const to = '+12025550102';
    const sids: string[] = [];
    for (let i = 0; i < 5; i++) sids.unshift(await placeCall({ To: to }));
    const seen: string[] = [];
    let path: string | null = `${base()}.json?To=${encodeURIComponent(to)}&PageSize=2`;
    let requests = 0;
    while (path !== null) {
      const { body } = await request('GET', path);
      seen.push(...(body['calls'] as { sid: string }[]).map(({ sid }) => sid));
      path = body['next_page_uri'] as string | null;
      requests++;
      if (requests === 1) await placeCall({ To: to });
    }
    expect(seen).toEqual(sids);
    expect(requests).toBe(3);
  });

  it('filters by status and time', async () => {
    const to = '+12025550198';
    const sid = await placeCall({ To: to });
    const found = async (query: string) =>
      ((await request('GET', `${base()}.json?To=${encodeURIComponent(to)}&${query}`)).body['calls'] as unknown[])
        .length;
    expect(await found('Status=queued')).toBe(1);
    expect(await found('StartTime%3E=2020-01-01')).toBe(0);
    await until(async () => (await bench.getCall(sid)).status === 'ringing');
    expect(await found('Status=queued')).toBe(0);
    expect(await found('StartTime%3E=2020-01-01')).toBe(1);
    expect(await found('StartTime%3C=2020-01-01')).toBe(0);
    expect(await found(`StartTime=${new Date().toISOString().slice(0, 10)}`)).toBe(1);
    expect(await request('GET', `${base()}.json?PageSize=0`)).toMatchObject({ status: 400 });
  });
});
