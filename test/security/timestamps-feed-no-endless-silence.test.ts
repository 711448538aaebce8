import fc from 'fast-check';
import { createCallerTrack } from '../../src/voice/media/caller-track.js';

/** Silence that engines may get beyond the length of the call, and at once, in ms. */
const BEYOND_THE_CALL_MS = 1_000;
const AT_ONCE_MS = 2_000;
const FRAME_MS = 20;
/** Audio and silence that may be passed on at once. */
const MAX_AT_ONCE_MS = 8_000;

const timestamp = fc.oneof(
  fc.nat(999_999_999_999),
  fc.nat(120_000),
  fc.constantFrom(0, 1, 20, 3_600_000, 999_999_999_999),
);
const step = fc.record({
  afterMs: fc.oneof(fc.nat(40), fc.nat(5_000), fc.constant(0)),
  /** Undefined: a tick of the clock without audio. */
  timestampMs: fc.option(timestamp, { nil: undefined }),
  bytes: fc.constantFrom(1, 160, 1_600),
});

/**
 * Providers bill the audio that engines send them. A carrier that sends false timestamps must not make a media process
 * send hours of silence, or keep it busy with them.
 */
describe('timestamps of a carrier’s audio', () => {
  it('cause at most as much silence as the call is long, and two seconds of it at once', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 200 }), async (steps) => {
        let nowMs = 0;
        let silentMs = 0;
        let heardMs = 0;
        const track = createCallerTrack({
          now: () => nowMs,
          record: () => undefined,
          onDropped: () => undefined,
          pass: (frame) => {
            if (frame.every((byte) => byte === 0xff)) silentMs += FRAME_MS;
            else heardMs += FRAME_MS;
          },
        });
        let sentFrames = 0;
        for (const { afterMs, timestampMs, bytes } of steps) {
          nowMs += afterMs;
          const before = silentMs;
          if (timestampMs === undefined) track.tick(nowMs);
          else {
            track.hear(new Uint8Array(bytes).fill(1), timestampMs);
            sentFrames += Math.ceil(bytes / 160);
          }
          await new Promise((resolve) => setImmediate(resolve));
          expect(silentMs - before).toBeLessThanOrEqual(AT_ONCE_MS);
          expect(silentMs).toBeLessThanOrEqual(nowMs + BEYOND_THE_CALL_MS);
        }
        // All of it, unless it is more than the call is long.
        if (sentFrames * FRAME_MS + silentMs <= MAX_AT_ONCE_MS) expect(heardMs).toBe(sentFrames * FRAME_MS);
        expect(heardMs).toBeLessThanOrEqual(sentFrames * FRAME_MS);
      }),
      { numRuns: 200 },
    );
  });
});
