import { startBench, until, type Bench } from './support/simulator.js';

let bench: Bench;
beforeAll(async () => {
  bench = await startBench({ SIMULATOR_TIME_SCALE: '0.1' });
});
afterAll(() => bench.close());

let created = 0;

/** Creates a call with `params` over the carrier's REST API. */
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

const asyncDetection = (path: string, mode = 'Enable') => ({
  MachineDetection: mode,
  AsyncAmd: 'true',
  AsyncAmdStatusCallback: `${bench.customer.baseUrl}${path}`,
});

describe('asynchronous answering machine detection', () => {
  it.each([
    ['00', 'Enable', 'human'],
    ['05', 'Enable', 'machine_start'],
    ['05', 'DetectMessageEnd', 'machine_end_beep'],
    ['07', 'Enable', 'unknown'],
    ['00', 'DetectMessageEnd', 'human'],
    ['12', 'Enable', 'fax'],
    ['12', 'DetectMessageEnd', 'fax'],
    ['13', 'DetectMessageEnd', 'machine_end_silence'],
    ['14', 'DetectMessageEnd', 'machine_end_other'],
    ['14', 'Enable', 'machine_start'],
    ['15', 'DetectMessageEnd', 'machine_start'],
  ])('reports …%s with %s as %s in one signed callback while the call continues', async (digits, mode, answeredBy) => {
    const to = `/amd-${digits}-${mode}`;
    const { sid, path } = await create(digits, asyncDetection(to, mode));
    await until(() => bench.customer.to(to).length > 0, 30_000);
    const [amdCallback] = bench.customer.to(to);
    expect(amdCallback?.signed).toBe(true);
    expect(amdCallback?.params).toEqual({
      CallSid: sid,
      AccountSid: bench.config.carriers.test.carrierAccountId,
      AnsweredBy: answeredBy,
      MachineDetectionDuration: expect.stringMatching(/^\d+$/),
    });
    // The carrier requested the TwiML without waiting for the result of the detection.
    expect(bench.customer.to(`${path}/twiml`)[0]?.at).toBeLessThan(amdCallback?.at ?? 0);
    expect(bench.customer.to(`${path}/twiml`)[0]?.params).not.toHaveProperty('AnsweredBy');
    expect(await bench.getCall(sid)).toMatchObject({ answered_by: answeredBy, status: 'in-progress' });
    await bench.carrier.hangUp(sid);
    await until(() => bench.customer.to(`${path}/status`).length > 0);
    expect(bench.customer.to(`${path}/status`)[0]?.params).toMatchObject({ AnsweredBy: answeredBy });
    expect(bench.customer.to(to)).toHaveLength(1);
  });

  it('reports the end of a greeting only after the beep', async () => {
    const { sid } = await create('05', asyncDetection('/amd-beep', 'DetectMessageEnd'));
    await until(() => bench.customer.to('/amd-beep').length > 0, 30_000);
    // The greeting alone takes over four seconds of real time.
    expect(Number(bench.customer.to('/amd-beep')[0]?.params['MachineDetectionDuration'])).toBeGreaterThan(3_000);
    await bench.carrier.hangUp(sid);
  });

  it('reports late what a script makes late', async () => {
    const { sid } = await create('16', asyncDetection('/amd-16'));
    await until(() => bench.customer.to('/amd-16').length > 0, 30_000);
    expect(bench.customer.to('/amd-16')[0]?.params).toMatchObject({ AnsweredBy: 'machine_start' });
    // With the time scale of this test, a scripted second takes a tenth of a second.
    expect(Number(bench.customer.to('/amd-16')[0]?.params['MachineDetectionDuration'])).toBeGreaterThanOrEqual(1_490);
    await bench.carrier.hangUp(sid);
  });

  it('reports nothing for a call that has ended', async () => {
    const { sid } = await create('06', asyncDetection('/amd-late'));
    await bench.waitForEnd(sid);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(bench.customer.to('/amd-late')).toHaveLength(0);
    expect((await bench.getCall(sid)).answered_by).toBeNull();
  });
});

it('requests the TwiML of a call only after synchronous answering machine detection', async () => {
  const { sid, path } = await create('05', { MachineDetection: 'Enable' });
  await until(() => bench.customer.to(`${path}/twiml`).length > 0);
  expect(bench.customer.to(`${path}/twiml`)[0]?.params).toMatchObject({ AnsweredBy: 'machine_start' });
  await bench.carrier.hangUp(sid);
});

it.each([
  ['an unknown mode', { MachineDetection: 'Maybe' }],
  ['no callback URL', { MachineDetection: 'Enable', AsyncAmd: 'true' }],
  ['a timeout of 0', { MachineDetection: 'Enable', MachineDetectionTimeout: '0' }],
])('rejects a create request with %s', async (_, params) => {
  expect(await create('00', params)).toMatchObject({ status: 400, code: 20001 });
});
