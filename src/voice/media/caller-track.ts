import { FRAME_BYTES, FRAME_MS } from '../audio/frame.js';
import { MULAW_SILENCE } from '../audio/mulaw.js';

const BYTES_PER_MS = FRAME_BYTES / FRAME_MS;
const SILENCE = new Uint8Array(FRAME_BYTES).fill(MULAW_SILENCE);

/**
 * A carrier that has sent no audio for this long does not send silence, as Twilio in some calls
 * (github.com/Phonic-Co/phonic-node/pull/32). Otherwise audio comes every 20 ms, and networks rarely delay it more.
 */
const QUIET_AFTER_MS = 500;
/** How far silence stays behind the clock, so that audio after it, with its usual delay, is not late. */
const BEHIND_CLOCK_MS = 100;
/** Maximum silence passed on at once. It ends any turn; more would only keep the process busy after a long pause. */
const MAX_SILENCE_AT_ONCE_MS = 2_000;
/** If the first timestamp differs from our clock by more than this, it does not count from the start of the stream. */
const BELIEVABLE_MS = 10_000;
/** Audio is not from the future, except by as much as the `start` message was delayed more than the audio after it. */
const MAX_AHEAD_MS = 1_000;
/** Audio that is late by more than `behindMs` for this long is not late. The carrier has set its timestamps back. */
const LATE_AT_MOST = { behindMs: 1_000, forMs: 3_000 };
/**
 * Audio that may arrive at once: what was said while a connection stalled. A longer stall loses the stream. More audio than
 * time is dropped, because a browser can send it as fast as its connection, and providers bill it.
 */
const MAX_AT_ONCE_MS = 8_000;
/**
 * Audio per time, in the long run. Clocks of senders differ from ours by less. On a line that stalls often, late audio comes
 * in addition to the silence that took its place, and none of it may be lost.
 */
const MAX_SPEED = 1.1;

/**
 * Turns the carrier's audio into frames of 20 ms, with times from the start of the stream, and completes it with
 * silence, because detection of voice and of the end of a turn needs audio that continues:
 *
 * - A gap in the timestamps is filled when the audio after it arrives.
 * - If nothing arrives for 500 ms, silence fills the time since the last audio, and then follows in real time. It moves
 *   the track forward, so that no gap is filled twice.
 *
 * Late audio is passed on although silence has taken its place, because it may contain words. It keeps its time.
 *
 * All silence of a call together is at most as long as the call and `MAX_AHEAD_MS`, whatever timestamps arrive, because
 * the track only moves forward and never further ahead of the clock. Audio and silence that engines get are together hardly
 * longer than the call, see `MAX_AT_ONCE_MS`. The recording gets all audio, because it has one place for each time.
 */
export function createCallerTrack(p: {
  /** Time in ms since the start of the stream, on a monotonic clock. */
  now: () => number;
  /** Records a frame of the carrier. The recording is silent where there is none. */
  record(frame: Uint8Array, atMs: number): void;
  /** Passes a frame on to the engine. Frames of silence share their memory. */
  pass(frame: Uint8Array, atMs: number): void;
  /** Called once, at the first frame that is not passed on because there is more audio than time. */
  onDropped(): void;
}) {
  /** Difference between the carrier's timestamps and the time since the start of the stream. */
  let base: number | undefined;
  let behindSinceMs: number | undefined;
  /** The end of the track so far. */
  let endMs = 0;
  /** When the last audio arrived, and its end on the track. */
  let arrivedAtMs = 0;
  let audioEndMs = 0;
  let isInputAwaited = false;
  let hasDropped = false;
  const mayPass = createFrameAllowance(p.now);

  /** The time of a timestamp. Timestamps that jump are shifted, so that the audio has the time of its arrival. */
  function timeOf(timestampMs: number, nowMs: number): number {
    base ??= Math.abs(timestampMs - nowMs) > BELIEVABLE_MS ? timestampMs - nowMs : 0;
    const aheadMs = timestampMs - base - nowMs;
    behindSinceMs = aheadMs < -LATE_AT_MOST.behindMs ? (behindSinceMs ?? nowMs) : undefined;
    const isSetBack = behindSinceMs !== undefined && nowMs - behindSinceMs > LATE_AT_MOST.forMs;
    if (isSetBack || aheadMs > MAX_AHEAD_MS || timestampMs < base) {
      base = timestampMs - nowMs;
      behindSinceMs = undefined;
      endMs = Math.max(endMs, nowMs);
    }
    return timestampMs - base;
  }

  function passOn(frame: Uint8Array, atMs: number): void {
    if (mayPass()) return p.pass(frame, atMs);
    if (!hasDropped) p.onDropped();
    hasDropped = true;
  }

  function fillUntil(untilMs: number): void {
    endMs = Math.max(endMs, untilMs - MAX_SILENCE_AT_ONCE_MS);
    for (; endMs + FRAME_MS <= untilMs; endMs += FRAME_MS) passOn(SILENCE, endMs);
  }

  return {
    /** Call it for each audio message of the carrier. */
    hear(mulaw: Uint8Array, timestampMs: number): void {
      const nowMs = Math.round(p.now());
      const startMs = timeOf(timestampMs, nowMs);
      fillUntil(startMs);
      arrivedAtMs = nowMs;
      audioEndMs = startMs + Math.round(mulaw.length / BYTES_PER_MS);
      endMs = Math.max(endMs, audioEndMs);
      for (let from = 0, atMs = startMs; from < mulaw.length; from += FRAME_BYTES, atMs += FRAME_MS) {
        const frame = wholeFrame(mulaw.subarray(from, from + FRAME_BYTES));
        p.record(frame, atMs);
        passOn(frame, atMs);
      }
    },

    /** Call it every 20 ms. After a pause of the process, the audio that has arrived meanwhile is read first. */
    tick(dueMs: number): void {
      if (isInputAwaited || dueMs - arrivedAtMs <= QUIET_AFTER_MS) return;
      isInputAwaited = true;
      // Timers run before pending input is read, and immediates run after it.
      setImmediate(() => {
        isInputAwaited = false;
        const quietMs = dueMs - arrivedAtMs;
        if (quietMs > QUIET_AFTER_MS) fillUntil(audioEndMs + quietMs - BEHIND_CLOCK_MS);
      });
    },
  };
}

/** Returns a function that counts one frame, and returns whether it may be passed on now. */
function createFrameAllowance(now: () => number): () => boolean {
  let leftMs = MAX_AT_ONCE_MS;
  let atMs = now();
  return () => {
    const nowMs = now();
    leftMs = Math.min(MAX_AT_ONCE_MS, leftMs + (nowMs - atMs) * MAX_SPEED);
    atMs = nowMs;
    if (leftMs < FRAME_MS) return false;
    leftMs -= FRAME_MS;
    return true;
  };
}

function wholeFrame(part: Uint8Array): Uint8Array {
  if (part.length === FRAME_BYTES) return part;
  const frame = new Uint8Array(FRAME_BYTES).fill(MULAW_SILENCE);
  frame.set(part);
  return frame;
}
