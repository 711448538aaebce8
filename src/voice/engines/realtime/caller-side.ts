import { setTimeout as sleep } from 'node:timers/promises';
import { FRAME_MS } from '../../audio/frame.js';
import { listenForTone } from '../../session/mailbox-tone.js';
import type { SessionHappening } from '../../session/reducer/events.js';
import type { EngineCall } from '../port.js';
import type { ProviderTurns } from './caller-turns.js';
import type { ProviderLink } from './provider-link.js';

/** Audio kept while there is no provider session: 5 s. */
const KEPT_FRAMES = 5_000 / FRAME_MS;

/** Sends the caller's audio to the provider; buffers up to 5 s while there is no provider session. */
export function createCallerSide(p: {
  call: EngineCall;
  link: ProviderLink;
  turns: ProviderTurns;
  happened: (what: SessionHappening) => void;
}) {
  const { link, turns } = p;
  const kept: { frame: Uint8Array; timestampMs: number }[] = [];
  const tone = listenForTone(p.call.voicemail.action);

  function give(frame: Uint8Array, timestampMs: number): void {
    turns.gave(timestampMs);
    const audio = Buffer.from(frame.buffer, frame.byteOffset, frame.byteLength).toString('base64');
    link.send({ type: 'input_audio_buffer.append', audio });
  }

  return {
    hear(frame: Uint8Array, timestampMs: number): void {
      if (tone.hear(frame, timestampMs)) p.happened({ type: 'tone_heard', streamMs: timestampMs + FRAME_MS });
      if (link.isReady()) return give(frame, timestampMs);
      kept.push({ frame, timestampMs });
      if (kept.length > KEPT_FRAMES) kept.shift();
    },

    /** Starts a new provider session and sends it the buffered audio. */
    begin(): void {
      turns.begin();
      for (const { frame, timestampMs } of kept.splice(0)) give(frame, timestampMs);
    },

    /** Ends the call. @param speaks whether the caller was speaking @param withinMs timeout for the last transcript */
    async finish(speaks: boolean, withinMs: number): Promise<void> {
      if (speaks) link.send({ type: 'input_audio_buffer.commit' });
      const until = performance.now() + withinMs;
      while (link.isReady() && turns.isWaiting() && performance.now() < until) await sleep(20);
    },
  };
}
