import { tone, type Agent } from './support/agent.js';
import { dial, streamCall, twiml } from './support/line-tools.js';
import { startBench, until, type Bench } from './support/simulator.js';

let bench: Bench;
beforeAll(async () => {
  // With this scale, scripted waits take a tenth of their time: a stream breaks after 0.3 s.
  bench = await startBench({ SIMULATOR_TIME_SCALE: '0.1' });
});
afterAll(() => bench.close());

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const redirectTo = (path: string) => `<Redirect method="POST">${bench.customer.baseUrl}${path}</Redirect>`;

/**
 * Makes the customer's server respond to requests of this path with TwiML that starts another stream. The carrier
 * requests the path after the first stream.
 */
function streamAgain(path: string): void {
  const { answer } = bench.customer;
  bench.customer.answer = (request) =>
    request.path === path
      ? twiml(`<Connect><Stream url="${bench.customer.streamUrl}/stream/again"/></Connect>`)
      : answer(request);
}

describe('script 40', () => {
  it('resets the socket, continues with the next verb, and keeps the next stream', async () => {
    const { agents, sid } = await streamCall(bench, '+12025550140', redirectTo('/after-40'));
    streamAgain('/after-40');
    expect(await agents[0]!.closeCode).toBe(1006);
    expect(agents[0]!.messages.some(({ event }) => event === 'stop')).toBe(false);
    await until(() => agents.length === 2);
    expect(bench.customer.to('/after-40').map(({ signed }) => signed)).toEqual([true]);
    await pause(1_000);
    expect(agents[1]!.isOpen()).toBe(true);
    expect((await bench.getCall(sid)).status).toBe('in-progress');
    await bench.carrier.hangUp(sid);
    const { streams } = await bench.waitForEnd(sid);
    expect(streams.map(({ end }) => end)).toEqual(['reset by the carrier', 'call over']);
  });

  it('resets TCP, and hangs up if no verb follows', async () => {
    // Tries several times, because a busy system sometimes reports a reset as a normal end.
    for (let tries = 0; tries < 5 && !bench.customer.broken.includes('ECONNRESET'); tries++) {
      const { sid } = await streamCall(bench, '+12025550140');
      expect(await bench.waitForEnd(sid)).toMatchObject({ status: 'completed' });
    }
    expect(bench.customer.broken).toContain('ECONNRESET');
  });

  it('can be requested for any number, outbound and inbound', async () => {
    await bench.control('/faults', { fault: 'stream-reset', count: 2 });
    const outbound = await streamCall(bench, '+12025550107');
    expect(await outbound.agents[0]!.closeCode).toBe(1006);
    const arrived = await bench.control('/inbound', {
      to: '+12025550199',
      from: '+12025550123',
      script: '07',
      url: `${bench.customer.baseUrl}/inbound/twiml`,
    });
    await until(() => outbound.agents.length === 2);
    expect(await outbound.agents[1]!.closeCode).toBe(1006);
    const { sid } = arrived.body as { sid: string };
    expect((await bench.waitForEnd(sid)).streams[0]?.end).toBe('reset by the carrier');

    const withoutFault = await streamCall(bench, '+12025550107');
    await pause(1_000);
    expect(withoutFault.agents[0]!.isOpen()).toBe(true);
    await bench.carrier.hangUp(withoutFault.sid);
  });
});

describe('script 41', () => {
  it('loses about 5 of 100 frames in each direction and delivers the others late but in order', async () => {
    await bench.control('/faults', { fault: 'stream-lossy' });
    const { agents, sid } = await streamCall(bench, '+12025550107');
    const [agent] = agents;
    agent!.media(tone(8_000));
    agent!.mark('end');
    await until(() => agent!.messages.some(({ event }) => event === 'mark'), 40_000);
    await bench.carrier.hangUp(sid);
    await agent!.closed;
    const frames = agent!.messages.flatMap(({ media, at }) => (media === undefined ? [] : [{ ...media, at }]));
    const chunks = frames.map(({ chunk }) => Number(chunk));
    expect(frames.map(({ timestamp }) => Number(timestamp))).toEqual(chunks.map((chunk) => (chunk - 1) * 20));
    expect(chunks.toSorted((a, b) => a - b)).toEqual(chunks);
    const sequence = agent!.messages.flatMap(({ sequenceNumber }) => sequenceNumber ?? []);
    expect(sequence.map(Number)).toEqual(sequence.map((_, i) => i + 1));
    const [stream] = (await bench.getCall(sid)).streams;
    expect(stream!.framesSent).toBe(frames.length);
    const lost = stream!.framesLost / (stream!.framesLost + stream!.framesSent);
    expect(lost).toBeGreaterThan(0.02);
    expect(lost).toBeLessThan(0.1);
    // Regular frames come every 20 ms. The script delays these frames by up to 60 ms.
    const gaps = frames.slice(1).map(({ at }, i) => at - (frames[i]?.at ?? 0));
    expect(gaps.filter((gap) => gap < 5).length).toBeGreaterThan(gaps.length / 20);

    const heard = Buffer.from(await (await fetch(`${bench.url}/simulator/calls/${sid}/heard.wav`)).arrayBuffer());
    const samples = new Int16Array(heard.buffer.slice(heard.byteOffset + 44, heard.byteOffset + heard.length));
    const loud = frameEnergies(samples);
    const first = loud.indexOf(true);
    const span = loud.slice(first, loud.lastIndexOf(true) + 1);
    const holes = span.filter((isLoud) => !isLoud).length / span.length;
    expect(holes).toBeGreaterThan(0.02);
    expect(holes).toBeLessThan(0.1);
  });
});

describe('script 42', () => {
  it('falls silent without closing, does not respond to pings, and continues with the next verb later', async () => {
    const { agents, sid } = await streamCall(bench, '+12025550142', redirectTo('/after-42'));
    streamAgain('/after-42');
    const [agent] = agents;
    agent!.ping();
    await until(() => agent!.pongs() === 1);
    await until(async () => (await bench.getCall(sid)).streams[0]?.end === 'fell silent');
    await pause(100);
    const received = agent!.messages.length;
    agent!.ping();
    await until(() => agents.length === 2);
    expect(agent!.messages).toHaveLength(received);
    expect(agent!.pongs()).toBe(1);
    expect(agent!.isOpen()).toBe(true);
    expect(bench.customer.to('/after-42')).toHaveLength(1);
    await bench.carrier.hangUp(sid);
    expect(await agents[0]!.closeCode).toBe(1006);
    await agents[1]!.closed;
    expect(agents[1]!.messages.at(-1)?.event).toBe('stop');
  });
});

describe('scripts 43 to 45', () => {
  /** The timestamp, number and arrival of each frame that an agent has received. */
  const framesOf = ({ messages }: Agent) =>
    messages.flatMap(({ media, at }) =>
      media === undefined ? [] : [{ ms: Number(media.timestamp), number: Number(media.chunk), at, ...media }],
    );

  it('send no frames of silence, whose time passes in the timestamps', async () => {
    // The callee says something when the agent has said nothing for 5 s.
    const { agents, sid } = await streamCall(bench, '+12025550143');
    await until(() => agents[0]!.secondsHeard() > 0.5);
    const frames = framesOf(agents[0]!);
    expect(frames[0]!.ms).toBeGreaterThan(4_000);
    expect(frames.map(({ ms }) => ms)).toEqual(frames.map(({ number }) => (number - 1) * 20));
    for (const { payload } of frames) expect(Buffer.from(payload, 'base64').some((byte) => byte !== 0xff)).toBe(true);
    await bench.carrier.hangUp(sid);
    await agents[0]!.closed;
    const [stream] = (await bench.getCall(sid)).streams;
    expect(stream!.framesOmitted).toBeGreaterThan(200);
    expect(stream!.framesSent).toBe(framesOf(agents[0]!).length);
  });

  it('hold back everything for a while, and then send it at once and in order', async () => {
    const { agents, sid } = await streamCall(bench, '+12025550144');
    await until(() => framesOf(agents[0]!).length > 60);
    const frames = framesOf(agents[0]!);
    expect(frames.map(({ ms }) => ms)).toEqual(frames.map((_, i) => i * 20));
    // With this scale, the stall lasts 150 ms, which hold 7 frames.
    const heldBack = frames.filter(({ ms }) => ms >= 600 && ms < 740).map(({ at }) => at);
    expect(Math.max(...heldBack) - Math.min(...heldBack)).toBeLessThan(60);
    expect(Math.min(...heldBack) - frames.find(({ ms }) => ms === 580)!.at).toBeGreaterThan(100);
    await bench.carrier.hangUp(sid);
    await agents[0]!.closed;
  });

  it('let the timestamps jump', async () => {
    const { agents, sid } = await streamCall(bench, '+12025550145');
    await until(() => framesOf(agents[0]!).length > 30);
    expect(framesOf(agents[0]!).map(({ ms }) => ms)).toEqual(
      framesOf(agents[0]!).map((_, i) => i * 20 + (i * 20 >= 300 ? 3_600_000 : 0)),
    );
    await bench.carrier.hangUp(sid);
    await agents[0]!.closed;
  });
});

it('ends a call after endless redirects', async () => {
  bench.customer.answer = ({ path }) =>
    path.endsWith('/twiml') || path === '/loop' ? twiml(redirectTo('/loop')) : undefined;
  const { sid } = await dial(bench, '+12025550107');
  const record = await bench.waitForEnd(sid);
  expect(record.errors.map(({ code }) => code)).toEqual([12100]);
  expect(bench.customer.to('/loop').length).toBeGreaterThan(10);
  expect(bench.customer.to('/loop').length).toBeLessThan(200);
});

function frameEnergies(samples: Int16Array): boolean[] {
  return Array.from({ length: Math.floor(samples.length / 160) }, (_, i) =>
    samples.subarray(i * 160, i * 160 + 160).some((sample) => Math.abs(sample) > 1_000),
  );
}
