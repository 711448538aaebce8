import { createMicrophoneFrames } from '../../src/portal/app/talk/microphone-frames';
import { createNoiseWatch } from '../../src/portal/app/talk/noise-watch';
import { createLoudspeaker } from '../../src/portal/app/talk/loudspeaker';
import { pauseBeforeAttempt, reduceTalk, type TalkState } from '../../src/portal/app/talk/talk-state';
import { decodeMulaw, encodeMulaw } from '../../src/voice/audio/mulaw';
import { createResampler } from '../../src/voice/audio/resample';

function tone(hz: number, rate: number, seconds: number): Float32Array {
  return Float32Array.from({ length: rate * seconds }, (_, i) => 0.5 * Math.sin((2 * Math.PI * hz * i) / rate));
}

/** The effective value of a signal without its first 50 ms, in which the filter starts. */
function level(samples: Float32Array, rate: number): number {
  const rest = samples.slice(rate / 20);
  return Math.sqrt(rest.reduce((sum, sample) => sum + sample * sample, 0) / rest.length);
}

function inChunks(samples: Float32Array, size: number): Float32Array[] {
  return Array.from({ length: Math.ceil(samples.length / size) }, (_, i) => samples.slice(i * size, (i + 1) * size));
}

const joined = (chunks: Float32Array[]) => Float32Array.from(chunks.flatMap((chunk) => [...chunk]));
const frame = (value: number) => encodeMulaw(new Int16Array(160).fill(value));

describe('a resampler', () => {
  it.each([
    [48_000, 8_000],
    [44_100, 8_000],
    [16_000, 8_000],
    [8_000, 48_000],
    [8_000, 44_100],
  ])('keeps the level of a voice and the length, from %d Hz to %d Hz', (from, to) => {
    const out = joined(inChunks(tone(1_000, from, 1), 128).map(createResampler(from, to)));
    expect(level(out, to)).toBeCloseTo(0.5 / Math.SQRT2, 2);
    expect(Math.abs(out.length - to)).toBeLessThan(to / 100);
  });

  it('removes what the lower rate cannot carry', () => {
    expect(level(createResampler(48_000, 8_000)(tone(5_500, 48_000, 1)), 8_000)).toBeLessThan(0.004);
  });

  it('adds no mirrored tones at a higher rate', () => {
    const out = createResampler(8_000, 48_000)(tone(1_000, 8_000, 1));
    const delayed = tone(1_000, 48_000, 1);
    const errorAt = (delay: number) =>
      level(
        Float32Array.from(out.slice(2_400, 40_000), (sample, i) => sample - (delayed[i + 2_400 - delay] ?? 0)),
        48_000,
      );
    expect(Math.min(...Array.from({ length: 32 }, (_, i) => errorAt(80 + i)))).toBeLessThan(0.01);
  });

  it('gives the same samples however the stream is cut', () => {
    const samples = tone(440, 44_100, 0.3);
    const whole = createResampler(44_100, 8_000)(samples);
    const cut = joined(inChunks(samples, 17).map(createResampler(44_100, 8_000)));
    expect(cut).toHaveLength(whole.length);
    expect(Math.max(...cut.map((sample, i) => Math.abs(sample - (whole[i] ?? 0))))).toBeLessThan(0.01);
  });
});

describe('the microphone', () => {
  it('gives 50 frames of 160 bytes for each second, whatever its rate', () => {
    for (const rate of [48_000, 44_100]) {
      const frames = inChunks(tone(440, rate, 2), 128).flatMap(createMicrophoneFrames(rate));
      expect(frames.length).toBeGreaterThanOrEqual(98);
      expect(frames.length).toBeLessThanOrEqual(100);
      expect(new Set(frames.map(({ length }) => length))).toEqual(new Set([160]));
      expect(Math.max(...decodeMulaw(frames[50] ?? new Uint8Array()))).toBeGreaterThan(14_000);
    }
  });

  it('is limited, not wrapped, when it is too loud', () => {
    const [first] = createMicrophoneFrames(8_000)(new Float32Array(400).fill(1.5));
    expect(Math.min(...decodeMulaw(first ?? new Uint8Array()).slice(100))).toBeGreaterThan(30_000);
  });
});

describe('playback', () => {
  const pull = (playback: ReturnType<typeof createLoudspeaker>, samples = 128) => {
    const out = new Float32Array(samples);
    return { marks: playback.pull(out), loudest: Math.max(...out.map(Math.abs)) };
  };

  it('reports a mark when all audio before it has been played, and not earlier', () => {
    const playback = createLoudspeaker(8_000);
    for (let i = 0; i < 5; i++) playback.push(frame(8_000));
    playback.mark('one');
    const pulls = Array.from({ length: 8 }, () => pull(playback, 100));
    // The filter keeps the last 2 ms of 800 samples.
    expect(pulls.map(({ marks }) => marks)).toEqual([[], [], [], [], [], [], [], ['one']]);
    expect(pulls[3]?.loudest).toBeCloseTo(8_000 / 32_768, 1);
  });

  it('waits for 60 ms of audio before it starts, unless a mark says that no more follows', () => {
    const playback = createLoudspeaker(8_000);
    playback.push(frame(8_000));
    expect(pull(playback).loudest).toBe(0);
    playback.mark('short');
    expect(pull(playback, 160)).toEqual({ marks: ['short'], loudest: expect.closeTo(8_000 / 32_768, 1) });
  });

  it('is silent after it is cleared, and returns the marks that it will not reach', () => {
    const playback = createLoudspeaker(8_000);
    for (let i = 0; i < 5; i++) playback.push(frame(8_000));
    playback.mark('one');
    playback.mark('two');
    expect(pull(playback).marks).toEqual([]);
    expect(playback.clear()).toEqual(['one', 'two']);
    expect(pull(playback)).toEqual({ marks: [], loudest: 0 });
  });
});

describe('the connection of a web call', () => {
  const talking: TalkState = { phase: 'talking', token: 'b' };

  it('takes the latest token for the next socket', () => {
    const ready = reduceTalk({ phase: 'connecting', token: 'a' }, { event: 'ready', reconnect_token: 'b' });
    expect(ready).toEqual(talking);
    const rotated = reduceTalk(ready, { event: 'reconnect_token', token: 'c' });
    expect(reduceTalk(rotated, { event: 'closed', nowMs: 5 })).toEqual({
      phase: 'lost',
      token: 'c',
      sinceMs: 5,
      attempts: 0,
    });
  });

  it('is tried again for 30 seconds, ever more slowly', () => {
    let state = reduceTalk(talking, { event: 'closed', nowMs: 0 });
    const pauses: number[] = [];
    for (let nowMs = 0; state.phase === 'lost'; state = reduceTalk(state, { event: 'closed', nowMs })) {
      pauses.push(pauseBeforeAttempt(state));
      nowMs += pauses.at(-1) ?? 0;
    }
    expect(state).toEqual({ phase: 'ended', reason: 'connection_lost' });
    expect(pauses.slice(0, 5)).toEqual([250, 500, 1_000, 2_000, 2_000]);
    expect(pauses.reduce((sum, pause) => sum + pause)).toBeLessThan(32_000);
  });

  it('is tried again with the same token when the service asks for it, and when the first socket is lost', () => {
    const connecting: TalkState = { phase: 'connecting', token: 'a' };
    expect(reduceTalk(connecting, { event: 'ended', reason: 'reconnect' })).toBe(connecting);
    expect(reduceTalk(talking, { event: 'ended', reason: 'reconnect' })).toBe(talking);
    expect(reduceTalk(connecting, { event: 'closed', nowMs: 0 })).toMatchObject({ phase: 'lost', token: 'a' });
  });

  it('ends when the service says so, and stays ended', () => {
    const lost = reduceTalk(talking, { event: 'closed', nowMs: 0 });
    const ended = reduceTalk(lost, { event: 'ended', reason: 'rejected' });
    expect(ended).toEqual({ phase: 'ended', reason: 'rejected' });
    expect(reduceTalk(ended, { event: 'ready', reconnect_token: 'b' })).toBe(ended);
    expect(reduceTalk(ended, { event: 'closed', nowMs: 1 })).toBe(ended);
  });
});

describe('a watch for noise', () => {
  const LOUD = frame(3_000);
  const QUIET = frame(20);

  /** @returns after how many ms it noticed the noise; undefined if it did not */
  function noticedAfter(frames: readonly Uint8Array[], watch = createNoiseWatch()): number | undefined {
    const index = frames.findIndex((each) => watch.isNoisyAfter(each));
    return index === -1 ? undefined : (index + 1) * 20;
  }

  const ms = (each: Uint8Array, length: number) => Array<Uint8Array>(length / 20).fill(each);
  const repeated = (part: readonly Uint8Array[], times: number) => Array.from({ length: times }, () => part).flat();

  it('notices sound without a pause after 8 s', () => {
    expect(noticedAfter(ms(LOUD, 10_000))).toBe(8_000);
    expect(noticedAfter([...ms(QUIET, 5_000), ...ms(LOUD, 10_000)])).toBe(13_000);
  });

  it('takes tones with short gaps for one sound', () => {
    expect(noticedAfter(repeated([...ms(LOUD, 200), ...ms(QUIET, 400)], 20))).toBeLessThan(9_000);
  });

  it('notices no speech with pauses, and no quiet microphone', () => {
    expect(noticedAfter(repeated([...ms(LOUD, 5_000), ...ms(QUIET, 600)], 10))).toBeUndefined();
    expect(noticedAfter(ms(QUIET, 30_000))).toBeUndefined();
  });

  it('begins again when the agent speaks, and ends at the next pause', () => {
    const watch = createNoiseWatch();
    noticedAfter(ms(LOUD, 7_000), watch);
    watch.reset();
    expect(noticedAfter(ms(LOUD, 7_000), watch)).toBeUndefined();
    expect(noticedAfter(ms(LOUD, 2_000), watch)).toBe(1_000);
    for (const each of ms(QUIET, 600)) watch.isNoisyAfter(each);
    expect(noticedAfter(ms(QUIET, 1_000), watch)).toBeUndefined();
  });
});
