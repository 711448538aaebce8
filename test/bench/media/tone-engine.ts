import { FRAME_BYTES } from '../../../src/voice/audio/frame.js';
import { encodeMulaw, MULAW_SILENCE } from '../../../src/voice/audio/mulaw.js';
import type { EngineFactory } from '../../../src/voice/engines/port.js';

const TONE_SECONDS = 300;
const HERTZ = 440;

/**
 * An engine that does no work: it plays an endless tone and receives the caller's audio. The benchmark's carriers write
 * the send time into each frame, by the machine's clock in ns.
 * @param onHeard receives the time that each frame was under way, ms
 */
export function createToneEngine(onHeard: (ms: number) => void): EngineFactory {
  const tone = encodeMulaw(
    Int16Array.from({ length: TONE_SECONDS * 8_000 }, (_, i) =>
      Math.round(8_000 * Math.sin((2 * Math.PI * HERTZ * i) / 8_000)),
    ),
  );
  return {
    name: 'tone',
    warm: () => Promise.resolve(),
    create: () => ({
      name: 'tone',
      capabilities: { freeForm: false, dtmf: false },
      start(_call, sink) {
        sink.sendAudio('tone', tone);
        return Promise.resolve();
      },
      onCallerAudio(frame) {
        // The media server fills gaps in a stream with silence, which has no time.
        if (frame[FRAME_BYTES - 1] === MULAW_SILENCE) return;
        const sentAt = Buffer.from(frame.buffer, frame.byteOffset, 8).readBigUInt64LE();
        onHeard(Number(process.hrtime.bigint() - sentAt) / 1e6);
      },
      onDtmf: () => undefined,
      onPlayed: () => undefined,
      stop: () => Promise.resolve({ summary: 'A tone was played.', outputParameters: {} }),
    }),
    close: () => Promise.resolve(),
  };
}
