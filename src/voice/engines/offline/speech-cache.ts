import type { FliteVoice, Synthesizer } from '../../audio/flite.js';
import { PROCESS_OWNER, type RequestOwner } from '../../audio/request-queue.js';
import type { Mode } from '../../../kernel/ids.js';
import { FIXED_PHRASES } from './phrases.js';

/** Cache size per mode for sentences that are not fixed; a sentence of 3 s takes 24 kB. */
const MAX_BYTES = 8_000_000;

/**
 * TTS with a cache. Fixed sentences stay in it permanently. When it is full, the oldest other sentences are removed.
 * Concurrent requests for the same sentence share one synthesis, but only within an account, because another account's
 * request may fail or be slow.
 */
export function createSpeechCache(synthesizer: Synthesizer, { maxBytes = MAX_BYTES } = {}) {
  const fixed = new Map<string, Uint8Array>();
  const recent: Record<Mode, Map<string, Uint8Array>> = { live: new Map(), test: new Map() };
  const bytes: Record<Mode, number> = { live: 0, test: 0 };
  const making = new Map<string, Promise<Uint8Array>>();

  function keep(mode: Mode, text: string, key: string, mulaw: Uint8Array): void {
    if (FIXED_PHRASES.has(text)) return void fixed.set(key, mulaw);
    const kept = recent[mode];
    bytes[mode] += mulaw.length - (kept.get(key)?.length ?? 0);
    kept.set(key, mulaw);
    for (const [oldest, audio] of kept) {
      if (bytes[mode] <= maxBytes) break;
      kept.delete(oldest);
      bytes[mode] -= audio.length;
    }
  }

  return async function speak(
    text: string,
    voice: FliteVoice,
    owner: RequestOwner = PROCESS_OWNER,
  ): Promise<Uint8Array> {
    const key = `${voice} ${text}`;
    const known = fixed.get(key) ?? recent[owner.mode].get(key);
    if (known !== undefined) return known;
    const own = `${owner.mode} ${owner.accountId} ${key}`;
    const begun = making.get(own);
    if (begun !== undefined) return begun;
    const made = synthesizer.speak(text, voice, owner);
    making.set(own, made);
    try {
      const mulaw = await made;
      keep(owner.mode, text, key, mulaw);
      return mulaw;
    } finally {
      making.delete(own);
    }
  };
}
