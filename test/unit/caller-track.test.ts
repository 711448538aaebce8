import { createCallerTrack } from '../../src/voice/media/caller-track.js';

const FRAME_MS = 20;
const VOICE = new Uint8Array(160).fill(1);
const inputRead = () => new Promise((resolve) => setImmediate(resolve));

/** A track with a controlled clock. */
function openTrack() {
  let nowMs = 0;
  const passed: { atMs: number; isSilence: boolean }[] = [];
  const recorded: number[] = [];
  const drops: number[] = [];
  const track = createCallerTrack({
    now: () => nowMs,
    record: (_, atMs) => recorded.push(atMs),
    onDropped: () => drops.push(nowMs),
    pass: (frame, atMs) => passed.push({ atMs, isSilence: frame.every((byte) => byte === 0xff) }),
  });
  return {
    recorded,
    drops,
    times: () => passed.map(({ atMs }) => atMs),
    silence: () => passed.filter(({ isSilence }) => isSilence).map(({ atMs }) => atMs),
    voice: () => passed.filter(({ isSilence }) => !isSilence).map(({ atMs }) => atMs),
    /** Sets the clock and delivers audio. */
    hear(atMs: number, timestampMs = atMs, mulaw = VOICE): void {
      nowMs = atMs;
      track.hear(mulaw, timestampMs);
    },
    /** Delivers a frame every 20 ms. */
    hearFrom(fromMs: number, toMs: number, timestampMs = fromMs): void {
      for (let atMs = fromMs; atMs < toMs; atMs += FRAME_MS) this.hear(atMs, timestampMs + atMs - fromMs);
    },
    tick: (dueMs: number) => track.tick((nowMs = dueMs)),
    /** Lets time pass without audio. */
    async quietUntil(untilMs: number): Promise<void> {
      for (let dueMs = nowMs + FRAME_MS; dueMs <= untilMs; dueMs += FRAME_MS) {
        this.tick(dueMs);
        await inputRead();
      }
    },
  };
}

/** The times of frames that follow one another without a gap. */
const frames = (fromMs: number, toMs: number) =>
  Array.from({ length: (toMs - fromMs) / FRAME_MS }, (_, i) => fromMs + i * FRAME_MS);

describe('the caller’s track', () => {
  it('has frames of 20 ms, and the last one is completed with silence', () => {
    const lengths: number[] = [];
    const ends: (number | undefined)[] = [];
    const track = createCallerTrack({
      now: () => 0,
      record: (frame) => ends.push(frame.at(-1)),
      onDropped: () => undefined,
      pass: (frame, atMs) => lengths.push(frame.length, atMs),
    });
    track.hear(new Uint8Array(400).fill(1), 0);
    expect(lengths).toEqual([160, 0, 160, 20, 160, 40]);
    expect(ends).toEqual([1, 1, 0xff]);
  });

  it('starts at the start of the stream if the carrier counts from another one', () => {
    const line = openTrack();
    line.hear(50, 1_700_000_000_000);
    line.hear(70, 1_700_000_000_020);
    expect(line.voice()).toEqual([50, 70]);
  });

  it('is filled with silence, which is not recorded, where the timestamps have a gap', () => {
    const line = openTrack();
    line.hear(0);
    line.hear(100);
    expect(line.times()).toEqual(frames(0, 120));
    expect(line.silence()).toEqual(frames(20, 100));
    expect(line.recorded).toEqual([0, 100]);
  });

  it('is not filled where timestamps are only inexact', () => {
    const line = openTrack();
    for (const timestampMs of [0, 25, 40, 63, 80, 110, 120]) line.hear(timestampMs);
    expect(line.silence()).toEqual([]);
  });

  it('continues with silence in real time if nothing arrives for 500 ms', async () => {
    const line = openTrack();
    line.hearFrom(0, 200);
    await line.quietUntil(680);
    expect(line.silence()).toEqual([]);
    await line.quietUntil(1_180);
    expect(line.silence()).toEqual(frames(200, 1_100));
    expect(line.recorded).toEqual(frames(0, 200));
  });

  it('has silence from its start if the carrier sends no audio at all', async () => {
    const line = openTrack();
    await line.quietUntil(2_500);
    expect(line.times()).toEqual(frames(0, 2_400));
  });

  it('is filled only where silence is missing when audio follows', async () => {
    const line = openTrack();
    line.hearFrom(0, 200);
    await line.quietUntil(1_180);
    line.hearFrom(1_200, 1_300);
    expect(line.times()).toEqual(frames(0, 1_300));
    expect(line.voice()).toEqual([...frames(0, 200), ...frames(1_200, 1_300)]);
  });

  it('is not filled for audio that arrived during a pause of the process', async () => {
    const line = openTrack();
    line.hearFrom(0, 200);
    line.tick(3_200);
    for (const timestampMs of frames(200, 3_200)) line.hear(3_200, timestampMs);
    await inputRead();
    line.hearFrom(3_200, 3_300);
    expect(line.silence()).toEqual([]);
    expect(line.voice()).toEqual(frames(0, 3_300));
  });

  it('contains late audio at its time, after the silence that took its place, and continues without more silence', async () => {
    const line = openTrack();
    line.hearFrom(0, 200);
    await line.quietUntil(1_200);
    const silence = line.silence();
    expect(silence).toEqual(frames(200, 1_120));
    for (const timestampMs of frames(200, 1_200)) line.hear(1_200, timestampMs);
    line.hearFrom(1_220, 1_300);
    expect(line.silence()).toEqual([...silence, 1_200]);
    expect(line.voice()).toEqual([...frames(0, 1_200), ...frames(1_220, 1_300)]);
    expect(line.recorded).toEqual(line.voice());
  });

  it('contains repeated and reordered audio once per message, without silence', () => {
    const line = openTrack();
    for (const timestampMs of [0, 20, 20, 60, 40, 80]) line.hear(80, timestampMs);
    expect(line.voice()).toEqual([0, 20, 20, 60, 40, 80]);
    expect(line.silence()).toEqual([40]);
  });

  it('gets at most two seconds of silence at once', async () => {
    const line = openTrack();
    line.hearFrom(0, 200);
    line.hear(60_000);
    expect(line.silence()).toEqual(frames(58_000, 60_000));
    line.tick(120_000);
    await inputRead();
    expect(line.silence()).toHaveLength(200);
  });

  it('continues at the time of arrival when the timestamps jump ahead', () => {
    const line = openTrack();
    line.hearFrom(0, 200);
    line.hearFrom(200, 400, 3_600_000);
    line.hearFrom(400, 600, 999_999_999_000);
    expect(line.times()).toEqual(frames(0, 600));
    expect(line.silence()).toEqual([]);
  });

  it('continues at the time of arrival some seconds after the timestamps were set back', () => {
    const line = openTrack();
    line.hearFrom(0, 20_000);
    line.hearFrom(20_000, 30_000, 15_000);
    expect(line.silence()).toEqual([]);
    expect(line.voice().slice(-300)).toEqual(frames(24_000, 30_000));
    const other = openTrack();
    other.hearFrom(0, 200, 1_700_000_000_000);
    other.hearFrom(200, 400, 0);
    expect(other.times()).toEqual(frames(0, 400));
  });

  it('loses no word on a line that stalls often', async () => {
    const line = openTrack();
    for (let fromMs = 0; fromMs < 600_000; fromMs += 20_000) {
      line.hearFrom(fromMs, fromMs + 19_000);
      await line.quietUntil(fromMs + 19_980);
      for (const timestampMs of frames(fromMs + 19_000, fromMs + 20_000)) line.hear(fromMs + 19_980, timestampMs);
    }
    expect(line.voice()).toHaveLength(frames(0, 600_000).length);
    expect(line.drops).toEqual([]);
  });

  it('is recorded as a whole if there is more audio than time, and reports that once', () => {
    const line = openTrack();
    for (let n = 0; n < 1_000; n++) line.hear(0);
    expect(line.recorded).toHaveLength(1_000);
    expect(line.voice()).toHaveLength(400);
    expect(line.drops).toEqual([0]);
  });
});
