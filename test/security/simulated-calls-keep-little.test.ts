import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { request } from 'undici';
import { FRAME_BYTES } from '../../src/voice/audio/frame.js';
import { parseConfig } from '../../src/platform/config/config.js';
import { createLogger } from '../../src/platform/telemetry/logger.js';
import { createLine } from '../../src/telephony/simulator/media/line.js';
import { createLineRecordings, MAX_RECORDED_BYTES } from '../../src/telephony/simulator/media/line-recordings.js';
import { createSilentParty } from '../../src/telephony/simulator/remote-parties/machines.js';
import { createSimulator } from '../../src/telephony/simulator/server.js';
import { startBench, until, type Bench } from '../integration/telephony/support/simulator.js';
import { PRODUCTION } from '../support/production.js';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
const MB = 1_000_000;
const TEN_MINUTES = 600 * 50;
const CALLS_WITH_LOGS = 500;

describe('the audio of calls at the simulated carrier', () => {
  /** Lets a remote party hear ten minutes of speech. @returns how to read its recording */
  function hearTenMinutes(recordings: ReturnType<typeof createLineRecordings>): () => Buffer {
    let tick = () => undefined as void;
    const ticker = { add: (onFrame: () => void) => ((tick = onFrame), () => undefined) };
    const recording = recordings.start();
    const line = createLine({ remoteParty: createSilentParty(), ticker, recording, isFrameLost: () => false });
    line.open();
    for (let frame = 0; frame < TEN_MINUTES; frame += 1) {
      line.play(new Uint8Array(FRAME_BYTES).fill(7));
      tick();
    }
    line.close();
    return () => line.recordedAudio();
  }

  const usedMb = () => {
    collectGarbage();
    const { heapUsed, external } = process.memoryUsage();
    return (heapUsed + external) / MB;
  };

  it('takes 48 MB at most, however many long calls there are, and the newest is kept', () => {
    const recordings = createLineRecordings(MAX_RECORDED_BYTES);
    const before = usedMb();
    const calls = Array.from({ length: 50 }, () => hearTenMinutes(recordings));
    const lengths = calls.map((audio) => audio().length);
    expect(lengths.reduce((sum, length) => sum + length, 0)).toBeLessThanOrEqual(MAX_RECORDED_BYTES);
    expect(lengths.slice(0, 40)).toEqual(Array(40).fill(0));
    expect(lengths.slice(40)).toEqual(Array(10).fill(TEN_MINUTES * FRAME_BYTES));
    expect(
      calls
        .at(-1)?.()
        .every((byte) => byte === 7),
    ).toBe(true);
    expect(usedMb() - before).toBeLessThan(150);
  }, 120_000);

  it('is not kept at all where nothing can read it', () => {
    expect(hearTenMinutes(createLineRecordings(0))()).toHaveLength(0);
  });
});

describe('the simulated carrier', () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await startBench({ SIMULATOR_TIME_SCALE: '0.01' });
  }, 60_000);
  afterAll(() => bench.close());

  async function dial(n: number, to: string): Promise<string> {
    const outcome = await bench.carrier.dial({
      callId: `call_${n}`,
      to,
      from: '+15005550006',
      ringTimeoutSeconds: 30,
      timeLimitSeconds: 600,
    });
    if (outcome.outcome !== 'accepted') throw new Error(outcome.outcome);
    return outcome.carrierSid;
  }

  it('keeps the logs of at most 500 ended calls', async () => {
    const sids: string[] = [];
    // The last two digits are those of the script of a busy line.
    for (let n = 0; n <= CALLS_WITH_LOGS; n += 1) {
      const sid = await dial(n, '+12025550101');
      sids.push(sid);
      if (n === 0) await until(async () => (await bench.getCall(sid)).callbacks.some(({ status }) => status === 204));
    }
    const [first = '', second = ''] = sids;
    await until(async () => (await bench.getCall(second)).callbacks.length > 0, 20_000);
    const { callbacks, status } = await bench.getCall(first);
    expect({ callbacks, status }).toEqual({ callbacks: [], status: 'busy' });
  }, 120_000);
});

describe('the control API of the simulated carrier', () => {
  async function statusOf(path: string, env: NodeJS.ProcessEnv): Promise<number> {
    const config = parseConfig({ SIMULATOR_PORT: '0', LOG_LEVEL: 'silent', ...env });
    const simulator = createSimulator({ config, logger: createLogger({ role: 'simulator', level: 'silent' }) });
    const { port } = await simulator.listen();
    const { statusCode, body } = await request(`http://127.0.0.1:${port}${path}`);
    await body.dump();
    await simulator.close();
    return statusCode;
  }

  it.each([
    ['production', PRODUCTION, 401],
    ['production with SIMULATOR_CONTROL=true', { ...PRODUCTION, SIMULATOR_CONTROL: 'true' }, 200],
    ['development', {}, 200],
    ['development with SIMULATOR_CONTROL=false', { SIMULATOR_CONTROL: 'false' }, 401],
  ])(
    'is off in production unless a setting turns it on: %s',
    async (_, env, expected) => {
      expect(await statusOf('/simulator/calls', env)).toBe(expected);
      expect(await statusOf('/health/ready', env)).toBe(200);
    },
    60_000,
  );
});
