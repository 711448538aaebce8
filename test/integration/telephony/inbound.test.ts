import { startBench, until, type Bench, type WireStory } from './support/simulator.js';

const TALK = { contentType: 'text/xml; charset=utf-8', body: '<Response><Pause length="30"/></Response>' };
const SHORT = { contentType: 'application/xml', body: '<Response><Say>Hi</Say></Response>' };
const caller = { to: '+12025550150', from: '+14155550123', script: '06' };

let bench: Bench;
beforeAll(async () => {
  bench = await startBench({ SIMULATOR_TIME_SCALE: '0.1' });
});
afterAll(() => bench.close());
beforeEach(() => {
  bench.customer.seen.length = 0;
  bench.customer.answer = ({ path }) => (path.startsWith('/inbound_call') ? TALK : undefined);
});

async function arrive(more: Record<string, unknown> = {}): Promise<WireStory> {
  const answer = await bench.control('/inbound', { ...caller, ...more });
  expect(answer.status).toBe(201);
  return answer.body as WireStory;
}

describe('a call that arrives', () => {
  it('posts a signed form with the fields of the carrier, and tells of the end by the number-level callback', async () => {
    const { sid } = await arrive({ forwarded_from: '+12025550177', agent_id: 'agent_1' });
    const story = await bench.ended(sid);
    expect(story).toMatchObject({ direction: 'inbound', status: 'completed', duration_seconds: 1 });
    const [webhook] = bench.customer.to('/inbound_call');
    expect(webhook).toMatchObject({
      path: '/inbound_call',
      signed: true,
      params: {
        CallSid: sid,
        AccountSid: bench.config.carriers.live.carrierAccountId,
        From: caller.from,
        To: caller.to,
        CallStatus: 'ringing',
        Direction: 'inbound',
        ForwardedFrom: '+12025550177',
        agent_id: 'agent_1',
      },
    });
    expect(webhook?.headers['content-type']).toMatch(/^application\/x-www-form-urlencoded/);
    await until(() => bench.customer.to('/carrier/status').length === 1);
    expect(bench.customer.to('/carrier/status')[0]).toMatchObject({
      signed: true,
      params: { CallSid: sid, CallStatus: 'completed', SequenceNumber: '0', CallDuration: '1' },
    });
  });

  it('belongs to the account of its mode', async () => {
    const { sid } = await arrive({ mode: 'test' });
    await bench.ended(sid);
    expect(bench.customer.to('/inbound_call')[0]?.params['AccountSid']).toBe(
      bench.config.carriers.test.carrierAccountId,
    );
  });

  it('sends the credentials of the URL only after a challenge, and signs the URL with them', async () => {
    bench.customer.answer = ({ path, headers }) => {
      if (!path.startsWith('/guarded')) return undefined;
      return headers.authorization === undefined
        ? { status: 401, headers: { 'www-authenticate': 'Basic realm="callwright"' } }
        : SHORT;
    };
    const url = `${bench.customer.baseUrl.replace('http://', 'http://bearer:sk%5Flive@')}/guarded?x=1`;
    const { sid } = await arrive({ url, script: '07' });
    expect(await bench.ended(sid)).toMatchObject({ status: 'completed' });
    expect(bench.customer.to('/guarded').map(({ headers }) => headers.authorization)).toEqual([
      undefined,
      `Basic ${Buffer.from('bearer:sk_live').toString('base64')}`,
    ]);
  });

  it.each([
    ['an error', { status: 500 }, 11200],
    ['no content type', { status: 200, body: '<Response/>' }, 11200],
    ['no XML', { status: 200, contentType: 'application/json', body: '{}' }, 12300],
    ['broken XML', { status: 200, contentType: 'text/xml', body: '<Response><Say>' }, 12100],
    ['an unknown verb', { status: 200, contentType: 'text/xml', body: '<Response><Fax/></Response>' }, 12100],
  ])('fails when the answer is %s', async (_, answer, code) => {
    bench.customer.answer = ({ path }) => (path.startsWith('/inbound_call') ? answer : undefined);
    const { sid } = await arrive({ script: '07' });
    const story = await bench.ended(sid);
    expect(story.errors.map((error) => error.code)).toEqual([code]);
    expect(['failed', 'completed']).toContain(story.status);
  });

  it('asks the fallback, telling it why', async () => {
    bench.customer.answer = ({ path }) => {
      if (path.startsWith('/inbound_call')) return { status: 404 };
      return path === '/fallback' ? SHORT : undefined;
    };
    const { sid } = await arrive({ fallback_url: `${bench.customer.baseUrl}/fallback`, script: '07' });
    expect(await bench.ended(sid)).toMatchObject({ status: 'completed' });
    expect(bench.customer.to('/fallback')[0]).toMatchObject({
      signed: true,
      params: { CallSid: sid, ErrorCode: '11200', ErrorUrl: `${bench.customer.baseUrl}/inbound_call` },
    });
  });

  it('is not answered when it is rejected', async () => {
    bench.customer.answer = ({ path }) =>
      path.startsWith('/inbound_call')
        ? { contentType: 'text/xml', body: '<Response><Reject/></Response>' }
        : undefined;
    const { sid } = await arrive();
    expect(await bench.ended(sid)).toMatchObject({ status: 'busy', duration_seconds: 0 });
  });

  it('is answered by the first verb and can be limited like every other', async () => {
    const { sid } = await arrive({ script: '07', mode: 'test' });
    await until(async () => (await bench.story(sid)).status === 'in-progress');
    await bench.carrier.limitTo(sid, 5);
    expect(await bench.ended(sid)).toMatchObject({ status: 'completed', duration_seconds: 5 });
  });
});

describe('the control interface', () => {
  it('takes JSON only, and refuses what it does not know', async () => {
    const post = (body: string, type = 'application/json') =>
      fetch(`${bench.url}/simulator/inbound`, { method: 'POST', body, headers: { 'content-type': type } });
    expect((await post(JSON.stringify(caller), 'text/plain')).status).toBe(415);
    expect((await post('{')).status).toBe(400);
    expect((await post('{}')).status).toBe(400);
    expect((await post(JSON.stringify({ ...caller, script: '99' }))).status).toBe(400);
    expect((await post(JSON.stringify({ ...caller, url: 'file:///etc/passwd' }))).status).toBe(400);
    expect((await bench.control('/calls/CA00000000000000000000000000000000')).status).toBe(404);
    expect((await bench.control('/nothing')).status).toBe(404);
  });
});
