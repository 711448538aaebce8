import { FRAME_BYTES, FRAME_MS } from '../../src/voice/audio/frame.js';
import { createCallerTrack } from '../../src/voice/media/caller-track.js';
import { ProtocolViolation } from '../../src/telephony/media.js';
import { createWebCodec } from '../../src/telephony/web/codec.js';

/** Audio that may arrive at once, after a connection that stalled. */
const AT_ONCE_MS = 10_000;
const MESSAGE_MS = 200;

function openCodec() {
  const codec = createWebCodec({ streamId: 's', carrierSid: 'web_1', isTelephoneAudio: true, streamNumber: 0 });
  let events = 0;
  return {
    events: () => events,
    send: (message: object) =>
      codec.decode(Buffer.from(JSON.stringify(message)), false, () => {
        events += 1;
      }),
  };
}

/**
 * A browser can send audio much faster than anybody speaks. Providers bill each second of audio, while the call is billed by
 * time, and the audio of a few calls could take all time of a media process.
 */
describe('audio that is faster than time', () => {
  it('closes the socket of a browser after ten seconds that may come at once', () => {
    const { send, events } = openCodec();
    const payload = Buffer.alloc(MESSAGE_MS * 8, 0xff).toString('base64');
    const sendUntilClosed = () => {
      for (let n = 0; n < 300; n++) send({ event: 'media', timestamp: 0, payload });
    };
    expect(sendUntilClosed).toThrow(new ProtocolViolation(1008, 'more audio than time'));
    expect(events() * MESSAGE_MS).toBeGreaterThanOrEqual(AT_ONCE_MS);
    expect(events() * MESSAGE_MS).toBeLessThan(AT_ONCE_MS + 5_000);
  });

  it('closes the socket of a browser also if it is split into many messages', () => {
    const { send, events } = openCodec();
    const sendUntilClosed = () => {
      for (let n = 0; n < 3_000; n++) send({ event: 'mark', name: 'none' });
    };
    expect(sendUntilClosed).toThrow(new ProtocolViolation(1008, 'too many messages'));
    expect(events()).toBeLessThan(1_500);
  });

  it.each([
    ['the same timestamp', () => 0],
    ['the time of its arrival', (nowMs: number) => nowMs],
    ['jumping timestamps', (nowMs: number, n: number) => Math.max(0, nowMs + (n % 2 === 0 ? -900 : 900))],
  ])('does not reach the engine, on any carrier, with %s', (_what, timestampAt) => {
    let nowMs = 0;
    let passedMs = 0;
    const track = createCallerTrack({
      now: () => nowMs,
      record: () => undefined,
      onDropped: () => undefined,
      pass: () => void (passedMs += FRAME_MS),
    });
    const chunk = new Uint8Array((FRAME_BYTES * MESSAGE_MS) / FRAME_MS).fill(1);
    const lengthMs = 60_000;
    for (let n = 0; nowMs < lengthMs; n++) {
      track.hear(chunk, timestampAt(nowMs, n));
      // Five times as fast as time.
      nowMs += MESSAGE_MS / 5;
    }
    expect(passedMs).toBeGreaterThanOrEqual(lengthMs);
    expect(passedMs).toBeLessThanOrEqual(lengthMs * 1.1 + AT_ONCE_MS);
  });

  it('is recognized by the length of the call: what a stalled connection brings later is heard', () => {
    let nowMs = 0;
    const heard: number[] = [];
    const track = createCallerTrack({
      now: () => nowMs,
      record: () => undefined,
      onDropped: () => undefined,
      pass: (frame, atMs) => {
        if (frame[0] === 1) heard.push(atMs);
      },
    });
    const frame = new Uint8Array(FRAME_BYTES).fill(1);
    for (; nowMs < 60_000; nowMs += FRAME_MS) track.hear(frame, nowMs);
    // Nothing arrives for five seconds, and then all of it at once.
    nowMs += 5_000;
    for (let atMs = 60_000; atMs < nowMs; atMs += FRAME_MS) track.hear(frame, atMs);
    expect(heard).toHaveLength(nowMs / FRAME_MS);
  });
});
