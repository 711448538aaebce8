import { createCarriers } from '../../src/telephony/carriers.js';
import type { Mode } from '../../src/kernel/ids.js';
import { startBench, until, type Bench } from '../integration/telephony/support/simulator.js';

jest.setTimeout(60_000);

const CALLS = 12;
const RINGING_S = 5;

let bench: Bench;
beforeAll(async () => {
  bench = await startBench();
});
afterAll(() => bench.close());

/** Places calls that are not answered, and returns when the carrier reported their ends, in their order, ms. */
async function endsOf(mode: Mode): Promise<number[]> {
  const carrier = createCarriers({ config: bench.config })[mode];
  const callIds = Array.from({ length: CALLS }, (_, i) => `call_${mode}${i}`);
  const call = {
    to: '+12025550102',
    from: bench.config.carriers[mode].fromNumber,
    ringTimeoutSeconds: RINGING_S,
    timeLimitSeconds: 60,
  };
  const dials = await Promise.all(callIds.map((callId) => carrier.dial({ ...call, callId })));
  expect(dials.map(({ outcome }) => outcome)).toEqual(dials.map(() => 'accepted'));
  const ends = () =>
    callIds.flatMap((callId) =>
      bench.customer
        .to(`/carrier/calls/${callId}/status`)
        .filter(({ params }) => params['CallStatus'] === 'no-answer')
        .map(({ at }) => at),
    );
  await until(() => ends().length === CALLS, 30_000);
  return ends().toSorted((a, b) => a - b);
}

/**
 * A customer chooses when calls end, by the time that a phone may ring. The end of a call takes several steps of a worker, so
 * that hundreds of free ends in one second would delay the live calls of others until these are rejected.
 */
describe('test calls that end at the same time', () => {
  it('are reported in turn, and live ones at once', async () => {
    const [test, live] = [await endsOf('test'), await endsOf('live')];
    const lengthOf = (times: number[]) => (times.at(-1) ?? 0) - (times[0] ?? 0);
    // Eight a second. The first of them may be late.
    expect(lengthOf(test)).toBeGreaterThanOrEqual(1_000);
    // The same machine reports as many live ones together.
    expect(lengthOf(live)).toBeLessThan(lengthOf(test));
  });
});
