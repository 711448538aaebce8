import { streamTwiml } from './support/customer.js';
import { openAgent, tone } from './support/agent.js';
import { startBench, until, type Bench } from './support/simulator.js';

const from = '+15005550006';
const SAY = { contentType: 'text/xml', body: '<Response><Say>hi</Say></Response>' };
const HANG_UP = { contentType: 'text/xml', body: '<Response><Hangup/></Response>' };
const HOLD = { contentType: 'text/xml', body: '<Response><Pause length="120"/></Response>' };

let bench: Bench;
beforeAll(async () => {
  // With this scale, scripted waits take a tenth of their time: a ring of 1 s takes 0.1 s, and a delay of 10 s takes
  // one second.
  bench = await startBench({ SIMULATOR_TIME_SCALE: '0.1' });
});
afterAll(() => bench.close());

let call = 0;
const request = (digits: string) => ({
  callId: `call_${++call}`,
  to: `+120255501${digits}`,
  from,
  ringTimeoutSeconds: 30,
  timeLimitSeconds: 60,
});

/** Dials a call that the carrier must accept. Returns the dial request together with the carrier's call id. */
async function dialed(digits: string, overrides: Partial<ReturnType<typeof request>> = {}) {
  const dialRequest = { ...request(digits), ...overrides };
  const outcome = await bench.carrier.dial(dialRequest);
  if (outcome.outcome !== 'accepted') throw new Error(`not accepted: ${outcome.outcome}`);
  return { ...dialRequest, sid: outcome.carrierSid };
}

const callbacksOf = (callId: string) => bench.customer.to(`/carrier/calls/${callId}/status`);
/**
 * Sets the response to the carrier's requests for instructions, for later calls only. Earlier calls may still ring; the
 * response to their requests is a hang-up.
 */
const answerWith = (answer: typeof SAY) => {
  const first = call + 1;
  bench.customer.answer = ({ path }) => {
    const callNumber = Number(/call_(\d+)\/twiml$/.exec(path)?.[1]);
    if (Number.isNaN(callNumber)) return undefined;
    return callNumber >= first ? answer : HANG_UP;
  };
};

beforeEach(() => {
  answerWith(SAY);
  bench.customer.onStream = undefined;
});

describe('an answered call', () => {
  it('sends signed callbacks, fetches TwiML, and is billed by whole seconds', async () => {
    const { sid, callId } = await dialed('00');
    await bench.waitForEnd(sid);
    await until(() => callbacksOf(callId).length === 3);
    const seen = callbacksOf(callId);
    expect(seen.map(({ params }) => [params['SequenceNumber'], params['CallStatus']])).toEqual([
      ['0', 'initiated'],
      ['1', 'in-progress'],
      ['2', 'completed'],
    ]);
    expect(bench.customer.to(`/carrier/calls/${callId}/`).every(({ signed }) => signed)).toBe(true);
    expect(seen[2]?.params).toMatchObject({
      CallSid: sid,
      AccountSid: bench.config.carriers.test.carrierAccountId,
      Direction: 'outbound-api',
      CallbackSource: 'call-progress-events',
      ApiVersion: '2010-04-01',
      CallDuration: '1',
      Duration: '1',
      SipResponseCode: '200',
      Timestamp: expect.stringMatching(/^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d \+0000$/),
    });
    // The fragment of a URL configures how the carrier requests it; the request itself does not contain the fragment.
    expect(seen[0]?.path).not.toContain('rc=3');
    expect(await bench.carrier.fetch(sid)).toMatchObject({
      carrierSid: sid,
      status: 'completed',
      durationSeconds: 1,
      createdAt: expect.any(Number),
      startedAt: expect.any(Number),
      endedAt: expect.any(Number),
    });
  });

  it('is hung up at once by a script', async () => {
    answerWith(HOLD);
    const { sid } = await dialed('06');
    expect(await bench.waitForEnd(sid)).toMatchObject({ status: 'completed', duration_seconds: 1 });
  });

  it('ends at its time limit, which can be changed', async () => {
    answerWith(HOLD);
    const [kept, moved] = [await dialed('07', { timeLimitSeconds: 60 }), await dialed('07', { timeLimitSeconds: 90 })];
    await until(async () => (await bench.getCall(moved.sid)).status === 'in-progress');
    await bench.carrier.limitTo(moved.sid, 61);
    await expect(bench.carrier.limitTo(moved.sid, 59)).rejects.toMatchObject({ status: 400 });
    expect(await bench.waitForEnd(kept.sid, 70_000)).toMatchObject({ status: 'completed', duration_seconds: 60 });
    expect(await bench.waitForEnd(moved.sid)).toMatchObject({ duration_seconds: 61, time_limit_seconds: 61 });
  }, 90_000);

  it('is completed when we hang up, and hanging up twice is not an error', async () => {
    answerWith(HOLD);
    const { sid } = await dialed('07');
    await until(async () => (await bench.getCall(sid)).status === 'in-progress');
    await bench.carrier.hangUp(sid);
    expect(await bench.carrier.fetch(sid)).toMatchObject({ status: 'completed', durationSeconds: 1 });
    await expect(bench.carrier.hangUp(sid)).resolves.toBeUndefined();
    await expect(bench.carrier.limitTo(sid, 100)).resolves.toBeUndefined();
  });
});

describe('an unanswered call', () => {
  it.each([
    ['01', 'busy', '486'],
    ['03', 'failed', '503'],
    ['04', 'busy', '603'],
  ])('to number …%s ends %s with SIP %s', async (digits, status, sip) => {
    const { sid, callId } = await dialed(digits);
    expect(await bench.waitForEnd(sid)).toMatchObject({ status, duration_seconds: 0 });
    await until(() => callbacksOf(callId).length === 2);
    expect(callbacksOf(callId)[1]?.params).toMatchObject({
      CallStatus: status,
      SipResponseCode: sip,
      CallDuration: '0',
      SequenceNumber: '1',
    });
    expect(bench.customer.to(`/carrier/calls/${callId}/twiml`)).toHaveLength(0);
  });

  it('to number …02 rings until the timeout of the request', async () => {
    const { sid } = await dialed('02', { ringTimeoutSeconds: 1 });
    expect(await bench.waitForEnd(sid)).toMatchObject({ status: 'no-answer', sip_code: 487, duration_seconds: 0 });
  });

  it('is canceled if we hang up while it rings', async () => {
    const { sid } = await dialed('02');
    await bench.carrier.hangUp(sid);
    expect(await bench.waitForEnd(sid)).toMatchObject({ status: 'canceled', sip_code: 487 });
  });
});

describe('callback faults', () => {
  const receivedCallbacks = async (digits: string, count: number) => {
    const { sid, callId } = await dialed(digits);
    await bench.waitForEnd(sid);
    await until(() => callbacksOf(callId).length >= count);
    await new Promise((resolve) => setTimeout(resolve, 200));
    return callbacksOf(callId);
  };
  const sequences = (seen: Awaited<ReturnType<typeof receivedCallbacks>>) =>
    seen.map(({ params }) => params['SequenceNumber']);

  it('…20 sends each callback three times', async () => {
    expect(
      sequences(await receivedCallbacks('20', 9))
        .map(Number)
        .toSorted((a, b) => a - b),
    ).toEqual([0, 0, 0, 1, 1, 1, 2, 2, 2]);
  });

  it('…21 sends the last callback first', async () => {
    expect(sequences(await receivedCallbacks('21', 3))).toEqual(['2', '1', '0']);
  });

  it('…22 sends callbacks late', async () => {
    const { sid, callId } = await dialed('22');
    await bench.waitForEnd(sid);
    expect(callbacksOf(callId).some(({ params }) => params['CallStatus'] === 'completed')).toBe(false);
    await until(() => callbacksOf(callId).length === 3);
  });

  it('…23 never sends the final callback', async () => {
    expect(sequences(await receivedCallbacks('23', 2))).toEqual(['0', '1']);
  });

  it('…24 sends no callback', async () => {
    expect(await receivedCallbacks('24', 0)).toEqual([]);
  });

  it('…50 signs only the callbacks wrongly', async () => {
    const seen = await receivedCallbacks('50', 3);
    expect(seen.map(({ signed }) => signed)).toEqual([false, false, false]);
    expect(bench.customer.to(seen[0]!.path.replace('/status', '/twiml')).map(({ signed }) => signed)).toEqual([true]);
  });

  it('…51 sends signed callbacks with unknown fields', async () => {
    const seen = await receivedCallbacks('51', 3);
    expect(seen[0]?.params).toMatchObject({ FutureField: 'a & b = c', Ünïcode: '✓' });
    expect(seen.every(({ signed }) => signed)).toBe(true);
  });

  it('retries a callback as its URL configures: on 5xx here, with one token', async () => {
    let failuresLeft = 2;
    bench.customer.answer = ({ path, params }) => {
      if (path.endsWith('/twiml')) return SAY;
      return params['CallStatus'] === 'completed' && failuresLeft-- > 0 ? { status: 503 } : undefined;
    };
    const seen = await receivedCallbacks('00', 5);
    const last = seen.filter(({ params }) => params['CallStatus'] === 'completed');
    expect(last).toHaveLength(3);
    expect(new Set(last.map(({ headers }) => headers['i-twilio-idempotency-token'])).size).toBe(1);
  });
});

describe('a failing create request', () => {
  it('…30 is ambiguous, and there is no call', async () => {
    const dialRequest = request('30');
    expect(await bench.carrier.dial(dialRequest)).toEqual({ outcome: 'ambiguous' });
    expect(await bench.carrier.findPlaced({ ...dialRequest, since: Date.now() - 60_000 })).toEqual([]);
  });

  it('…31 is throttled twice, then accepted', async () => {
    const dialRequest = request('31');
    const outcomes = [];
    for (let i = 0; i < 3; i++) outcomes.push((await bench.carrier.dial(dialRequest)).outcome);
    expect(outcomes).toEqual(['throttled', 'throttled', 'accepted']);
  });

  it('…32 loses the response of a call that findPlaced finds and whose first callback has its id', async () => {
    const dialRequest = request('32');
    const since = Date.now();
    expect(await bench.carrier.dial(dialRequest)).toEqual({ outcome: 'ambiguous' });
    const [found, ...others] = await bench.carrier.findPlaced({ ...dialRequest, since });
    expect(others).toEqual([]);
    await until(() => callbacksOf(dialRequest.callId).length > 0);
    expect(callbacksOf(dialRequest.callId)[0]?.params['CallSid']).toBe(found?.carrierSid);
  });

  it('…33 places the call late', async () => {
    const dialRequest = request('33');
    const slow = bench.carrier.dial(dialRequest);
    expect((await bench.all()).some(({ sid }) => sid === dialRequest.callId)).toBe(false);
    expect((await slow).outcome).toBe('accepted');
  });

  it('can be requested for any number', async () => {
    expect((await bench.control('/faults', { fault: 'create-500', count: 1 })).status).toBe(200);
    expect(await bench.carrier.dial(request('00'))).toEqual({ outcome: 'ambiguous' });
    expect((await bench.carrier.dial(request('00'))).outcome).toBe('accepted');
    expect((await bench.control('/faults', { fault: 'no such fault' })).status).toBe(400);
  });

  it.each([
    ['+15005550001', { outcome: 'refused', endReason: 'invalid_number' }],
    ['+15005550002', { outcome: 'refused', endReason: 'invalid_number' }],
    ['+15005550003', { outcome: 'refused', endReason: 'rejected' }],
    ['+15005550004', { outcome: 'refused', endReason: 'rejected' }],
    ['12025550100', { outcome: 'refused', endReason: 'invalid_number' }],
  ])('is rejected for the number %s', async (to, outcome) => {
    expect(await bench.carrier.dial({ ...request('00'), to })).toMatchObject(outcome);
  });

  it('is rejected for a caller number that is not ours', async () => {
    const outcome = await bench.carrier.dial({ ...request('00'), from: '+15005550009' });
    expect(outcome).toMatchObject({ outcome: 'refused', endReason: 'internal_error', refusal: { code: '21210' } });
  });
});

describe('findPlaced', () => {
  it('finds the calls between two numbers since a time, newest first, queued and ended', async () => {
    const to = '+12025550199';
    const old = await dialed('99', { to });
    await bench.waitForEnd(old.sid);
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    const since = Date.now();
    const ended = await dialed('99', { to });
    await bench.waitForEnd(ended.sid);
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    const queued = await dialed('99', { to });
    const found = await bench.carrier.findPlaced({ to, from, since });
    expect(found.map(({ carrierSid }) => carrierSid)).toEqual([queued.sid, ended.sid]);
  });
});

describe('a media stream', () => {
  it('carries audio both ways in real time, returns marks after playback, and clears audio', async () => {
    const agents: ReturnType<typeof openAgent>[] = [];
    const upgrades: unknown[] = [];
    bench.customer.onStream = (socket, upgrade) => {
      upgrades.push(upgrade);
      agents.push(openAgent(socket));
    };
    const callId = `call_${call + 1}`;
    const parameter = '<Parameter name="a" value="b &amp; c"/>';
    const body = `<Response><Connect><Stream url="${bench.customer.streamUrl}/stream/${callId}">${parameter}</Stream></Connect></Response>`;
    answerWith({ contentType: 'text/xml', body });
    const { sid } = await dialed('07');
    await until(() => agents[0]?.messages.some(({ event }) => event === 'media') ?? false);
    const agent = agents[0]!;
    expect(upgrades).toEqual([{ path: `/stream/${callId}`, signed: true }]);
    expect(agent.messages[0]).toMatchObject({ event: 'connected', protocol: 'Call', version: '1.0.0' });
    expect(agent.messages[1]).toMatchObject({
      event: 'start',
      sequenceNumber: '1',
      start: {
        callSid: sid,
        accountSid: bench.config.carriers.test.carrierAccountId,
        tracks: ['inbound'],
        mediaFormat: { encoding: 'audio/x-mulaw', sampleRate: 8_000, channels: 1 },
        customParameters: { a: 'b & c' },
      },
    });
    expect(agent.messages[2]).toMatchObject({
      sequenceNumber: '2',
      media: { track: 'inbound', chunk: '1', timestamp: '0' },
    });

    const sentAt = performance.now();
    const echo = agent.next(({ mark }) => mark?.name === 'played');
    agent.media(tone(500));
    agent.mark('played');
    const played = await echo;
    expect(played.at - sentAt).toBeGreaterThan(450);

    const early = agent.next(({ mark }) => mark?.name === 'cleared');
    agent.media(tone(20_000));
    agent.mark('cleared');
    agent.clear();
    await early;
    const idle = agent.next(({ mark }) => mark?.name === 'idle');
    agent.mark('idle');
    await idle;

    agent.close();
    const record = await bench.waitForEnd(sid);
    expect(record.status).toBe('completed');
    expect(record.streams[0]).toMatchObject({ mediaReceived: 2, clears: 1 });
    expect(record.streams[0]?.marks.map(({ name }) => name)).toEqual(['played', 'cleared', 'idle']);

    const frames = agent.messages.filter(({ event }) => event === 'media');
    const span = frames.at(-1)!.at - frames[0]!.at;
    expect(frames.length).toBeGreaterThan(25);
    // A busy machine may delay frames, but not so much that they come five times as fast or as slow.
    expect(span / (frames.length - 1)).toBeGreaterThan(4);
    expect(span / (frames.length - 1)).toBeLessThan(100);
    expect(frames.map(({ media }) => Number(media?.timestamp))).toEqual(frames.map((_, i) => i * 20));

    const heard = Buffer.from(await (await fetch(`${bench.url}/simulator/calls/${sid}/heard.wav`)).arrayBuffer());
    expect(heard.toString('ascii', 0, 4)).toBe('RIFF');
    const loud = [...new Int16Array(heard.buffer.slice(heard.byteOffset + 44))].filter((s) => Math.abs(s) > 1_000);
    // The recording has the half second of tone that was played, but not the twenty seconds that were cleared.
    expect(loud.length).toBeGreaterThan(3_000);
    expect(loud.length).toBeLessThan(4_500);
  });

  it('ends with stop when the call ends, and is followed by the next verb when we close it', async () => {
    const agents: ReturnType<typeof openAgent>[] = [];
    bench.customer.onStream = (socket) => agents.push(openAgent(socket));
    const next = `<Redirect method="POST">${bench.customer.baseUrl}/after</Redirect>`;
    answerWith(streamTwiml(`${bench.customer.streamUrl}/stream/x`, next) as typeof SAY);
    const stopped = await dialed('07');
    await until(() => agents.length === 1 && agents[0]!.messages.length > 2);
    await bench.carrier.hangUp(stopped.sid);
    await agents[0]!.closed;
    expect(agents[0]!.messages.at(-1)).toMatchObject({ event: 'stop', stop: { callSid: stopped.sid } });
    expect(bench.customer.to('/after')).toHaveLength(0);

    await dialed('07');
    await until(() => agents.length === 2 && agents[1]!.messages.length > 2);
    agents[1]!.close();
    await until(() => bench.customer.to('/after').length === 1);
    expect(bench.customer.to('/after')[0]?.signed).toBe(true);
  });

  it.each([
    ['is rejected', (base: string) => `${base}/stream/x`, 31920],
    ['has a query string', (base: string) => `${base}/stream/x?a=1`, 31920],
    ['is not wss outside loopback', () => 'ws://192.0.2.1/stream/x', 31922],
    ['cannot be reached', () => 'ws://127.0.0.1:1/stream/x', 31902],
  ])('is followed by the next verb if its URL %s', async (_, url, code) => {
    const next = `<Redirect method="POST">${bench.customer.baseUrl}/next-verb</Redirect>`;
    answerWith(streamTwiml(url(bench.customer.streamUrl), next) as typeof SAY);
    const before = bench.customer.to('/next-verb').length;
    const { sid } = await dialed('07');
    const record = await bench.waitForEnd(sid);
    expect(record.errors[0]?.code).toBe(code);
    expect(bench.customer.to('/next-verb').length).toBe(before + 1);
  });
});
