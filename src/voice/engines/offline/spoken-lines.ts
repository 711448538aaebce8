import type { FliteVoice, Synthesizer } from '../../audio/flite.js';
import { FIXED_LINES } from './lines.js';

/** Lines of calls that are kept; a line of 3 s takes 24 kB. */
const MAX_KEPT = 300;

/**
 * A voice that remembers: fixed lines for good, others, such as questions made ready ahead, while there is room. A line
 * that is being made is not made twice.
 */
export function createSpokenLines(synthesizer: Synthesizer) {
  const fixed = new Map<string, Promise<Uint8Array>>();
  const recent = new Map<string, Promise<Uint8Array>>();

  return function speak(text: string, voice: FliteVoice): Promise<Uint8Array> {
    const kept = FIXED_LINES.has(text) ? fixed : recent;
    const key = `${voice} ${text}`;
    const known = kept.get(key);
    if (known !== undefined) return known;
    const spoken = synthesizer.speak(text, voice);
    kept.set(key, spoken);
    spoken.catch(() => kept.delete(key));
    for (const oldest of recent.keys()) {
      if (recent.size <= MAX_KEPT) break;
      recent.delete(oldest);
    }
    return spoken;
  };
}
