import { streamTwiml } from '../integration/telephony/support/customer.js';
import { startBench, until, type Bench } from '../integration/telephony/support/simulator.js';

const MAX_CALLS_WITH_AUDIO = 50;
const WAV_HEADER_BYTES = 44;
let bench: Bench;
beforeAll(async () => {
  bench = await startBench({ SIMULATOR_TIME_SCALE: '0.1' });
  bench.customer.onStream = (socket) => socket.on('error', () => undefined);
  bench.customer.answer = ({ path }) =>
    path.endsWith('/twiml') ? streamTwiml(`${bench.customer.streamUrl}/stream/x`) : undefined;
}, 60_000);
afterAll(() => bench.close());

async function dial(n: number): Promise<string> {
  const outcome = await bench.carrier.dial({
    callId: `call_${n}`,
    to: '+12025550100',
    from: '+15005550006',
    ringTimeoutSeconds: 30,
    timeLimitSeconds: 600,
  });
  if (outcome.outcome !== 'accepted') throw new Error(outcome.outcome);
  return outcome.carrierSid;
}

const storedAudioBytes = async (sid: string) => {
  const wav = await fetch(`${bench.url}/simulator/calls/${sid}/heard.wav`);
  return (await wav.arrayBuffer()).byteLength - WAV_HEADER_BYTES;
};

describe('the simulated carrier', () => {
  it('keeps the audio of at most 50 calls, even while all of them continue', async () => {
    const first = await dial(0);
    await until(async () => (await storedAudioBytes(first)) > 0, 20_000);
    let last = first;
    for (let n = 1; n <= MAX_CALLS_WITH_AUDIO; n++) last = await dial(n);
    expect((await bench.all()).filter(({ duration_seconds: seconds }) => seconds !== null)).toEqual([]);
    await until(async () => (await storedAudioBytes(last)) > 0, 20_000);
    expect(await storedAudioBytes(first)).toBe(0);
  }, 120_000);
});
