import { createBackgroundLoops, createBackgroundSound } from '../../src/voice/audio/background-sound.js';
import { decodeMulaw, encodeMulaw, MULAW_SILENCE } from '../../src/voice/audio/mulaw.js';
import { createPlayback } from '../../src/voice/session/playback.js';

const KINDS = ['room', 'office'] as const;

const level = (samples: Int16Array) =>
  Math.sqrt(samples.reduce((sum, value) => sum + value * value, 0) / Math.max(1, samples.length));

describe.each(KINDS)('the background sound %s', (kind) => {
  const { linear } = createBackgroundLoops()(kind);

  it('is the same in every process, whole frames long, and quiet', () => {
    expect(createBackgroundLoops()(kind).linear).toEqual(linear);
    expect(linear.length % 160).toBe(0);
    expect(Math.abs(level(linear) - 260)).toBeLessThan(20);
    expect(Math.max(...linear.map(Math.abs))).toBeLessThanOrEqual(2_080);
  });

  it('is quiet in every second, and repeats without a click', () => {
    for (let at = 0; at < linear.length; at += 8_000) {
      const second = level(linear.subarray(at, at + 8_000));
      expect(second).toBeGreaterThan(50);
      expect(second).toBeLessThan(700);
    }
    const steps = linear.map((value, i) => Math.abs(value - (linear.at(i - 1) ?? 0)));
    expect(steps[0]).toBeLessThanOrEqual(Math.max(...steps.subarray(1)));
  });
});

it('repeats a background sound after its last frame', () => {
  const loop = createBackgroundLoops()('room');
  const sound = createBackgroundSound(loop);
  const first = sound.alone().slice();
  for (let frame = 1; frame < loop.mulaw.length / 160; frame += 1) sound.alone();
  expect(sound.alone()).toEqual(first);
});

it('adds a background sound to the voice, and clips only the loudest samples', () => {
  const loop = { linear: new Int16Array(320).fill(1_000), mulaw: new Uint8Array(320) };
  const sound = createBackgroundSound(loop);
  const voice = encodeMulaw(new Int16Array(160).fill(4_000));
  expect(Math.abs((decodeMulaw(sound.under(voice))[0] ?? 0) - 5_000)).toBeLessThan(200);
  expect(decodeMulaw(sound.under(encodeMulaw(new Int16Array(160).fill(32_000))))[0]).toBeGreaterThan(31_000);
});

/** Plays with a clock that the test moves, with the loud background 7 or without one. */
function play(hasBackground: boolean) {
  let nowMs = 0;
  const sent: (number | string)[] = [];
  const recorded: { byte: number | undefined; atMs: number }[] = [];
  const played: [string, number, boolean][] = [];
  const silent = { linear: new Int16Array(160), mulaw: new Uint8Array(160).fill(7) };
  const playback = createPlayback({
    line: {
      media: (frame) => void sent.push(frame[0] ?? -1),
      mark: (name) => void sent.push(name),
      clear: () => void sent.push('clear'),
    },
    now: () => nowMs,
    background: hasBackground ? createBackgroundSound(silent) : undefined,
    onPlayed: (...figures) => void played.push(figures),
    onAudioPlayed: (mulaw, atMs) => void recorded.push({ byte: mulaw[0], atMs }),
  });
  const run = (ms: number) => {
    for (const end = nowMs + ms; nowMs < end; nowMs += 20) playback.pump(nowMs);
  };
  return { playback, sent, recorded, played, run };
}

const audio = (ms: number, byte = 1) => new Uint8Array(ms * 8).fill(byte);

describe('playback with a background sound', () => {
  it('sends nothing in pauses without it', () => {
    const { sent, run } = play(false);
    run(1_000);
    expect(sent).toEqual([]);
  });

  it('fills pauses at the pace of the clock, at most 60 ms ahead, without marks', () => {
    const { sent, run, playback } = play(true);
    run(1_000);
    expect(sent).toEqual(Array<number>(52).fill(7));
    expect(playback.isIdle()).toBe(true);
    expect(playback.remainingMs()).toBeLessThanOrEqual(60);
  });

  it('sends the voice instead of the pause, at its usual lead, and then the background again', () => {
    const { sent, run, playback, played } = play(true);
    run(200);
    playback.enqueue('a', audio(400));
    playback.endItem('a');
    sent.length = 0;
    run(20);
    // 40 ms of the pause are still to be played.
    expect(sent.filter((what) => what === 1)).toHaveLength(16);
    run(400);
    expect(sent.filter((what) => what === 1)).toHaveLength(20);
    const marks = sent.filter((what) => typeof what === 'string');
    expect(sent.indexOf(7)).toBeGreaterThan(sent.indexOf(marks.at(-1) ?? ''));
    for (const mark of marks) playback.onMark(String(mark));
    expect(played.at(-1)).toEqual(['a', 400, true]);
    expect(playback.isIdle()).toBe(true);
  });

  it('is cleared by a barge-in with the voice, and continues', () => {
    const { sent, run, playback, played } = play(true);
    playback.enqueue('a', audio(2_000));
    run(200);
    playback.clear();
    expect(sent.at(-1)).toBe('clear');
    expect(played).toEqual([['a', 0, false]]);
    sent.length = 0;
    run(100);
    expect(sent).toEqual(Array<number>(7).fill(7));
  });

  it('is not in the audio that is recorded, which has its time', () => {
    const { sent, run, playback, recorded } = play(true);
    run(100);
    playback.enqueue('a', audio(200, MULAW_SILENCE));
    playback.endItem('a');
    run(400);
    for (const mark of sent) if (typeof mark === 'string') playback.onMark(mark);
    expect(recorded).toEqual([{ byte: MULAW_SILENCE, atMs: 140 }]);
  });
});
