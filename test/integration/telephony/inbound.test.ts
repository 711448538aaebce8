import { startBench, until, type Bench, type SimulatedCall } from './support/simulator.js';

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

async function bringCall(more: Record<string, unknown> = {}): Promise<SimulatedCall> {
  const answer = await bench.control('/inbound', { ...caller, ...more });
  expect(answer.status).toBe(201);
  return answer.body as SimulatedCall;
}

describe('an inbound call', () => {
  it('posts a signed form with the carrier’s fields, and reports its end with the number-level callback', async () => {
    const { sid } = await bringCall({ forwarded_from: '+12025550177', agent_id: 'agent_1' });
    const record = await bench.waitForEnd(sid);
    expect(record).toMatchObject({ direction: 'inbound', status: 'completed', duration_seconds: 1 });
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

  it('uses the carrier account of its mode', async () => {
    const { sid } = await bringCall({ mode: 'test' });
    await bench.waitForEnd(sid);
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
    const { sid } = await bringCall({ url, script: '07' });
    expect(await bench.waitForEnd(sid)).toMatchObject({ status: 'completed' });
    expect(bench.customer.to('/guarded').map(({ headers }) => headers.authorization)).toEqual([
      undefined,
      `Basic ${Buffer.from('bearer:sk_live').toString('base64')}`,
    ]);
  });

  it.each([
    ['an HTTP error', { status: 500 }, 11200],
    ['without content type', { status: 200, body: '<Response/>' }, 11200],
    ['not XML', { status: 200, contentType: 'application/json', body: '{}' }, 12300],
    ['malformed XML', { status: 200, contentType: 'text/xml', body: '<Response><Say>' }, 12100],
    ['an unknown verb', { status: 200, contentType: 'text/xml', body: '<Response><Fax/></Response>' }, 12100],
  ])('fails when the response is %s', async (_, answer, code) => {
    bench.customer.answer = ({ path }) => (path.startsWith('/inbound_call') ? answer : undefined);
    const { sid } = await bringCall({ script: '07' });
    const record = await bench.waitForEnd(sid);
    expect(record.errors.map((error) => error.code)).toEqual([code]);
    expect(['failed', 'completed']).toContain(record.status);
  });

  it('requests the fallback URL with the error', async () => {
    bench.customer.answer = ({ path }) => {
      if (path.startsWith('/inbound_call')) return { status: 404 };
      return path === '/fallback' ? SHORT : undefined;
    };
    const { sid } = await bringCall({ fallback_url: `${bench.customer.baseUrl}/fallback`, script: '07' });
    expect(await bench.waitForEnd(sid)).toMatchObject({ status: 'completed' });
    expect(bench.customer.to('/fallback')[0]).toMatchObject({
      signed: true,
      params: { CallSid: sid, ErrorCode: '11200', ErrorUrl: `${bench.customer.baseUrl}/inbound_call` },
    });
  });

  it('stays unanswered when it is rejected', async () => {
    bench.customer.answer = ({ path }) =>
      path.startsWith('/inbound_call')
        ? { contentType: 'text/xml', body: '<Response><Reject/></Response>' }
        : undefined;
    const { sid } = await bringCall();
    expect(await bench.waitForEnd(sid)).toMatchObject({ status: 'busy', duration_seconds: 0 });
  });

  it('is answered by the first verb, and its time limit can be changed', async () => {
    const { sid } = await bringCall({ script: '07', mode: 'test' });
    await until(async () => (await bench.getCall(sid)).status === 'in-progress');
    await bench.carrier.limitTo(sid, 60);
    expect(await bench.getCall(sid)).toMatchObject({ status: 'in-progress', time_limit_seconds: 60 });
    await bench.carrier.hangUp(sid);
  });
});

describe('the control API', () => {
  it('accepts only JSON, and rejects unknown values', async () => {
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
