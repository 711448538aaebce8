import { startBench, until, type Bench } from './support/simulator.js';

let bench: Bench;
beforeAll(async () => {
  bench = await startBench({ SIMULATOR_TIME_SCALE: '0.1' });
});
afterAll(() => bench.close());

let created = 0;

/** Creates a call over the carrier's REST interface, with whatever it is asked for. */
async function create(digits: string, params: Record<string, string>) {
  const { carrierAccountId, authToken } = bench.config.carriers.test;
  const path = `/call-${++created}`;
  bench.customer.answer = (request) =>
    request.path.endsWith('/twiml')
      ? { contentType: 'text/xml', body: '<Response><Pause length="60"/></Response>' }
      : undefined;
  const response = await fetch(`${bench.url}/2010-04-01/Accounts/${carrierAccountId}/Calls.json`, {
    method: 'POST',
    headers: {
      authorization: `Basic ${Buffer.from(`${carrierAccountId}:${authToken}`).toString('base64')}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: new URLSearchParams({
      To: `+120255501${digits}`,
      From: '+15005550006',
      Url: `${bench.customer.baseUrl}${path}/twiml`,
      StatusCallback: `${bench.customer.baseUrl}${path}/status`,
      ...params,
    }),
  });
  const { sid, code } = (await response.json()) as { sid?: string; code?: number };
  return { status: response.status, sid: sid ?? '', code, path };
}

const async = (path: string, mode = 'Enable') => ({
  MachineDetection: mode,
  AsyncAmd: 'true',
  AsyncAmdStatusCallback: `${bench.customer.baseUrl}${path}`,
});

describe('the detection of answering machines beside the call', () => {
  it.each([
    ['00', 'Enable', 'human'],
    ['05', 'Enable', 'machine_start'],
    ['05', 'DetectMessageEnd', 'machine_end_beep'],
    ['07', 'Enable', 'unknown'],
    ['00', 'DetectMessageEnd', 'human'],
  ])('…%s with %s is told as %s, signed, once, while the call goes on', async (digits, mode, answeredBy) => {
    const to = `/amd-${digits}-${mode}`;
    const { sid, path } = await create(digits, async(to, mode));
    await until(() => bench.customer.to(to).length > 0, 30_000);
    const [told] = bench.customer.to(to);
    expect(told?.signed).toBe(true);
    expect(told?.params).toEqual({
      CallSid: sid,
      AccountSid: bench.config.carriers.test.carrierAccountId,
      AnsweredBy: answeredBy,
      MachineDetectionDuration: expect.stringMatching(/^\d+$/),
    });
    // The instructions were not waited for.
    expect(bench.customer.to(`${path}/twiml`)[0]?.at).toBeLessThan(told?.at ?? 0);
    expect(bench.customer.to(`${path}/twiml`)[0]?.params).not.toHaveProperty('AnsweredBy');
    expect(await bench.story(sid)).toMatchObject({ answered_by: answeredBy, status: 'in-progress' });
    await bench.carrier.hangUp(sid);
    await until(() => bench.customer.to(`${path}/status`).length > 0);
    expect(bench.customer.to(`${path}/status`)[0]?.params).toMatchObject({ AnsweredBy: answeredBy });
    expect(bench.customer.to(to)).toHaveLength(1);
  });

  it('tells of the end of a greeting only when the machine has beeped', async () => {
    const { sid } = await create('05', async('/amd-beep', 'DetectMessageEnd'));
    await until(() => bench.customer.to('/amd-beep').length > 0, 30_000);
    // The greeting alone takes over four seconds, in real time.
    expect(Number(bench.customer.to('/amd-beep')[0]?.params['MachineDetectionDuration'])).toBeGreaterThan(3_000);
    await bench.carrier.hangUp(sid);
  });

  it('tells nothing of a call that ended before', async () => {
    const { sid } = await create('06', async('/amd-late'));
    await bench.ended(sid);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(bench.customer.to('/amd-late')).toHaveLength(0);
    expect((await bench.story(sid)).answered_by).toBeNull();
  });
});

it('the detection of answering machines holds the instructions of a call back that did not ask for them meanwhile', async () => {
  const { sid, path } = await create('05', { MachineDetection: 'Enable' });
  await until(() => bench.customer.to(`${path}/twiml`).length > 0);
  expect(bench.customer.to(`${path}/twiml`)[0]?.params).toMatchObject({ AnsweredBy: 'machine_start' });
  await bench.carrier.hangUp(sid);
});

it.each([
  ['an unknown mode', { MachineDetection: 'Maybe' }],
  ['nobody to tell', { MachineDetection: 'Enable', AsyncAmd: 'true' }],
  ['a timeout of no time', { MachineDetection: 'Enable', MachineDetectionTimeout: '0' }],
])('a create with %s is refused', async (_, params) => {
  expect(await create('00', params)).toMatchObject({ status: 400, code: 20001 });
});
