import { decodeMulaw, encodeMulaw } from '../../src/voice/audio/mulaw.js';
import { createTwoTrackRecorder } from '../../src/voice/recordings/two-track-recorder.js';

const frame = (level: number) => encodeMulaw(new Int16Array(160).fill(level));
const LEVEL = 988;

function recorder() {
  const parts: Buffer[] = [];
  let closed = false;
  const tracks = createTwoTrackRecorder({
    write: (mulaw) => void parts.push(Buffer.from(mulaw)),
    close: async () => void (closed = true),
  });
  const all = () => Buffer.concat(parts);
  return {
    tracks,
    isClosed: () => closed,
    ms: () => all().length / 16,
    at: (ms: number) => {
      const [caller, agent] = decodeMulaw(all().subarray(ms * 16, ms * 16 + 2));
      return { caller, agent };
    },
  };
}

describe('the two-track recorder', () => {
  it('splits a frame across blocks and drops the part for a block already written', async () => {
    const { tracks, at, ms } = recorder();
    tracks.put('caller', frame(1_000), 990);
    tracks.advance(3_000);
    tracks.put('agent', frame(1_000), 990);
    await tracks.close(1_100);
    expect(ms()).toBe(1_100);
    expect([989, 990, 999, 1_000, 1_009, 1_010].map(at)).toEqual([
      { caller: 0, agent: 0 },
      { caller: LEVEL, agent: 0 },
      { caller: LEVEL, agent: 0 },
      { caller: LEVEL, agent: LEVEL },
      { caller: LEVEL, agent: LEVEL },
      { caller: 0, agent: 0 },
    ]);
  });

  it('records both sides on one timeline, with silence in the gaps', async () => {
    const { tracks, at, ms, isClosed } = recorder();
    tracks.put('caller', frame(1_000), 0);
    tracks.put('agent', frame(-1_000), 20);
    tracks.put('caller', frame(1_000), 60);
    await tracks.close(100);
    expect(ms()).toBe(100);
    expect([0, 20, 40, 60, 80].map(at)).toEqual([
      { caller: LEVEL, agent: 0 },
      { caller: 0, agent: -LEVEL },
      { caller: 0, agent: 0 },
      { caller: LEVEL, agent: 0 },
      { caller: 0, agent: 0 },
    ]);
    expect(isClosed()).toBe(true);
  });

  it('accepts frames out of order, across blocks, within the allowed delay', async () => {
    const { tracks, at } = recorder();
    tracks.put('caller', frame(1_000), 1_500);
    tracks.put('caller', frame(1_000), 990);
    tracks.advance(2_900);
    tracks.put('agent', frame(-1_000), 500);
    await tracks.close(3_000);
    expect([990, 1_005, 1_500].map((ms) => at(ms).caller)).toEqual([LEVEL, LEVEL, LEVEL]);
    expect(at(510).agent).toBe(-LEVEL);
  });

  it('writes completed blocks and drops frames that are too late or too far in the future', async () => {
    const { tracks, ms } = recorder();
    for (let nowMs = 0; nowMs <= 10_000; nowMs += 20) tracks.advance(nowMs);
    expect(ms()).toBe(8_000);
    tracks.put('caller', frame(1_000), 100);
    tracks.put('caller', frame(1_000), 1e9);
    await tracks.close(10_000);
    expect(ms()).toBe(10_000);
  });

  it('accepts frames that arrived during a pause of the process and are processed after it', async () => {
    const { tracks, at } = recorder();
    tracks.advance(4_990);
    tracks.advance(10_000);
    for (let atMs = 5_000; atMs < 10_000; atMs += 20) tracks.put('caller', frame(1_000), atMs);
    await tracks.close(10_000);
    expect([5_000, 6_000, 7_000, 8_000, 9_000].map((ms) => at(ms).caller)).toEqual(Array(5).fill(LEVEL));
  });

  it.each([0, 20, 1_000, 1_980, 12_340])('is as long as the call: %i ms', async (lengthMs) => {
    const { tracks, ms } = recorder();
    tracks.put('caller', frame(1_000), 0);
    await tracks.close(lengthMs);
    expect(ms()).toBe(lengthMs);
  });
});
