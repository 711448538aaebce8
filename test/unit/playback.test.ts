import { MULAW_SILENCE } from '../../src/voice/audio/mulaw.js';
import { createPlayback } from '../../src/voice/session/playback.js';

/** Creates a playback whose clock the test controls, and records its output. */
function playbackOnClock() {
  let nowMs = 0;
  const sent: string[] = [];
  const frames: Uint8Array[] = [];
  const played: [string, number, boolean][] = [];
  const proven: { byte: number | undefined; atMs: number }[] = [];
  const playback = createPlayback({
    line: {
      media: (frame) => {
        sent.push('media');
        frames.push(frame.slice());
      },
      mark: (name) => void sent.push(name),
      clear: () => void sent.push('clear'),
    },
    now: () => nowMs,
    onPlayed: (...figures) => void played.push(figures),
    onAudioPlayed: (mulaw, atMs) => {
      for (let at = 0; at < mulaw.length; at += 160) proven.push({ byte: mulaw[at], atMs: atMs + at / 8 });
    },
  });
  return {
    playback,
    sent,
    frames,
    played,
    proven,
    marks: () => sent.filter((name) => name.startsWith('m') && name !== 'media'),
    turnTo: (ms: number) => (nowMs = ms),
    /** Advances the clock in steps of 40 ms. */
    run: (ms: number) => {
      for (const end = nowMs + ms; nowMs < end; nowMs += 40) playback.pump();
    },
  };
}

const audio = (ms: number, byte = 1) => new Uint8Array(ms * 8).fill(byte);

describe('playback', () => {
  it('splits audio of any size into frames of 160 bytes and fills the last one with silence', () => {
    const { playback, frames, run } = playbackOnClock();
    playback.enqueue('a', audio(20).subarray(0, 100));
    playback.enqueue('a', audio(20, 2).subarray(0, 100));
    run(40);
    expect(frames).toHaveLength(1);
    playback.endItem('a');
    run(40);
    expect(frames.map((frame) => frame.length)).toEqual([160, 160]);
    expect([...new Set(frames[0])]).toEqual([1, 2]);
    expect([...(frames[1] ?? [])].filter((byte) => byte === 2)).toHaveLength(40);
    expect(frames[1]?.at(-1)).toBe(MULAW_SILENCE);
  });

  it('sends one frame per tick of an uneven timer', () => {
    const { playback, frames, turnTo } = playbackOnClock();
    playback.enqueue('a', audio(5_000));
    playback.pump();
    for (let beat = 1; beat <= 200; beat++) {
      const before = frames.length;
      turnTo(beat * 20 + [0, 1.9, -0.4, 0.7][beat % 4]!);
      playback.pump(beat * 20);
      expect(frames.length - before).toBe(1);
    }
  });

  it('stays 200 to 400 ms ahead of real time', () => {
    const { playback, frames, run } = playbackOnClock();
    playback.enqueue('a', audio(5_000));
    for (let elapsed = 0; elapsed < 4_000; elapsed += 40) {
      run(40);
      const aheadMs = frames.length * 20 - elapsed;
      expect(aheadMs).toBeGreaterThanOrEqual(200);
      expect(aheadMs).toBeLessThanOrEqual(400);
    }
  });

  it('sends a mark every 200 ms and at the end of an item, and reports what was played from returned marks', () => {
    const { playback, marks, played, run } = playbackOnClock();
    playback.enqueue('a', audio(500));
    playback.endItem('a');
    run(1_000);
    expect(marks()).toEqual(['m1', 'm2', 'm3']);
    expect(played).toEqual([]);
    for (const name of marks()) playback.onMark(name);
    expect(played).toEqual([
      ['a', 200, false],
      ['a', 400, false],
      ['a', 500, true],
    ]);
    expect(playback.isIdle()).toBe(true);
  });

  it('plays items one after the other', () => {
    const { playback, frames, run } = playbackOnClock();
    playback.enqueue('a', audio(40, 1));
    playback.enqueue('b', audio(40, 2));
    run(200);
    expect(frames.map((frame) => frame[0])).toEqual([1, 1]);
    playback.endItem('a');
    run(200);
    expect(frames.map((frame) => frame[0])).toEqual([1, 1, 2, 2]);
  });

  it('treats a mark as confirmation of all earlier marks', () => {
    const { playback, played, proven, run } = playbackOnClock();
    playback.enqueue('a', audio(600));
    run(400);
    playback.onMark('m2');
    expect(played.at(-1)).toEqual(['a', 400, false]);
    expect(proven).toHaveLength(20);
  });

  it('reports confirmed frames without gaps, from the time they started to play', () => {
    const { playback, proven, run } = playbackOnClock();
    run(1_000);
    playback.enqueue('a', audio(400));
    run(400);
    playback.onMark('m2');
    expect(proven.map((frame) => frame.atMs)).toEqual(Array.from({ length: 20 }, (_, i) => 1_000 + i * 20));
  });

  it('counts cleared audio as not played, even if its marks return', () => {
    const { playback, sent, marks, played, proven, run } = playbackOnClock();
    playback.enqueue('a', audio(2_000));
    playback.enqueue('b', audio(500));
    run(600);
    playback.onMark('m1');
    playback.clear();
    expect(sent.at(-1)).toBe('clear');
    expect(played).toEqual([
      ['a', 200, false],
      ['a', 200, false],
      ['b', 0, false],
    ]);
    for (const name of marks()) playback.onMark(name);
    expect(played).toHaveLength(3);
    expect(proven).toHaveLength(10);
    expect(playback.isIdle()).toBe(true);
  });

  it('ignores late audio of a cleared item and plays the next item at once', () => {
    const { playback, frames, run } = playbackOnClock();
    playback.enqueue('a', audio(2_000, 1));
    run(200);
    playback.clear();
    const before = frames.length;
    playback.enqueue('a', audio(500, 1));
    playback.endItem('a');
    playback.enqueue('b', audio(100, 2));
    run(40);
    expect(frames.slice(before).map((frame) => frame[0])).toEqual([2, 2, 2, 2, 2]);
  });

  it('sends no clear if there is nothing to drop', () => {
    const { playback, sent } = playbackOnClock();
    playback.clear();
    expect(sent).toEqual([]);
  });

  it('reports the remaining time of queued audio', () => {
    const { playback, run } = playbackOnClock();
    playback.enqueue('a', audio(1_000));
    expect(playback.remainingMs()).toBe(1_000);
    run(400);
    expect(playback.remainingMs()).toBe(600);
  });
});
