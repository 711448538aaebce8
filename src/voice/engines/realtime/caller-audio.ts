import { setTimeout as sleep } from 'node:timers/promises';
import { FRAME_MS } from '../../audio/frame.js';
import { createToneDetector } from '../../session/voicemail-tone.js';
import type { SessionEventBody } from '../../session/reducer/events.js';
import type { EngineCall } from '../port.js';
import type { ProviderTurns } from './provider-turns.js';
import type { ProviderLink } from './provider-link.js';

/** Audio buffered while there is no provider session: 5 s. */
const MAX_BUFFERED_FRAMES = 5_000 / FRAME_MS;

/** Sends the caller's audio to the provider; buffers up to 5 s while there is no provider session. */
export function createCallerAudio(p: {
  call: EngineCall;
  link: ProviderLink;
  turns: ProviderTurns;
  dispatch: (what: SessionEventBody) => void;
}) {
  const { link, turns } = p;
  const buffered: { frame: Uint8Array; timestampMs: number }[] = [];
  const tone = createToneDetector(p.call.voicemail.action);

  function forward(frame: Uint8Array, timestampMs: number): void {
    turns.onFrameSent(timestampMs);
    const audio = Buffer.from(frame.buffer, frame.byteOffset, frame.byteLength).toString('base64');
    link.send({ type: 'input_audio_buffer.append', audio });
  }

  return {
    push(frame: Uint8Array, timestampMs: number): void {
      if (tone.push(frame, timestampMs)) p.dispatch({ type: 'tone_heard', streamMs: timestampMs + FRAME_MS });
      if (link.isReady()) return forward(frame, timestampMs);
      buffered.push({ frame, timestampMs });
      if (buffered.length > MAX_BUFFERED_FRAMES) buffered.shift();
    },

    /** Starts a new provider session and sends it the buffered audio. */
    begin(): void {
      turns.begin();
      for (const { frame, timestampMs } of buffered.splice(0)) forward(frame, timestampMs);
    },

    /** Ends the call. @param speaks whether the caller was speaking @param timeoutMs timeout for the last transcript */
    async finish(speaks: boolean, timeoutMs: number): Promise<void> {
      if (speaks) link.send({ type: 'input_audio_buffer.commit' });
      const until = performance.now() + timeoutMs;
      while (link.isReady() && turns.isWaiting() && performance.now() < until) await sleep(20);
    },
  };
}
