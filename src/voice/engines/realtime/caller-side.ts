import { setTimeout as sleep } from 'node:timers/promises';
import { FRAME_MS } from '../../audio/frame.js';
import { listenForTone } from '../../session/mailbox-tone.js';
import type { SessionHappening } from '../../session/reducer/events.js';
import type { EngineCall } from '../port.js';
import type { ProviderTurns } from './caller-turns.js';
import type { ProviderLink } from './provider-link.js';

/** Of a caller who speaks while there is no session. */
const KEPT_FRAMES = 5_000 / FRAME_MS;

/** The caller's audio on its way to the provider; kept for a while when there is none. */
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

    /** There is another session, which has heard nothing yet. */
    begin(): void {
      turns.begin();
      for (const { frame, timestampMs } of kept.splice(0)) give(frame, timestampMs);
    },

    /** The call is over. @param speaks whether the caller was speaking @param withinMs for their last words */
    async finish(speaks: boolean, withinMs: number): Promise<void> {
      if (speaks) link.send({ type: 'input_audio_buffer.commit' });
      const until = performance.now() + withinMs;
      while (link.isReady() && turns.isWaiting() && performance.now() < until) await sleep(20);
    },
  };
}
