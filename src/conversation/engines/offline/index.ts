import { createSynthesizer } from '../../../audio/flite.js';
import type { FliteVoice } from '../../../audio/flite.js';
import type { EngineFactory } from '../../port.js';
import { createTurnTaking } from '../../turn-taking.js';
import { loadVoiceActivity } from '../../../audio/voice-activity.js';
import { voiceNamed } from '../../voices.js';
import { createDialogue, DIALOGUE_TIMING } from './dialogue.js';
import type { DialogueTiming } from './dialogue.js';
import { BRIDGE, FIXED_LINES, INTRODUCTION, REPLIES } from './lines.js';

/** Stamped on every result, so that nobody takes it for a conversation with a model. */
export const OFFLINE_ENGINE = 'offline-demo';

/**
 * The engine that needs no account and no network: it speaks by flite, hears voice but understands no words, and follows
 * a fixed dialogue. One thread speaks for all calls of the process.
 */
export function createOfflineEngine(options: { timing?: Partial<DialogueTiming> } = {}): EngineFactory {
  const timing = { ...DIALOGUE_TIMING, ...options.timing };
  const synthesizer = createSynthesizer();
  const kept = new Map<string, Promise<Uint8Array>>();
  let newDetector: Awaited<ReturnType<typeof loadVoiceActivity>> | undefined;

  function speak(text: string, voice: FliteVoice): Promise<Uint8Array> {
    if (!FIXED_LINES.has(text)) return synthesizer.speak(text, voice);
    const key = `${voice} ${text}`;
    const known = kept.get(key);
    if (known !== undefined) return known;
    const spoken = synthesizer.speak(text, voice);
    kept.set(key, spoken);
    spoken.catch(() => kept.delete(key));
    return spoken;
  }

  return {
    name: OFFLINE_ENGINE,

    async warm() {
      newDetector ??= await loadVoiceActivity();
      await synthesizer.warm();
      const { flite } = voiceNamed('');
      await Promise.all([INTRODUCTION, BRIDGE, ...REPLIES].map((line) => speak(line, flite)));
    },

    create() {
      if (newDetector === undefined) throw new Error('the engine must be warmed before it is used');
      const turnTaking = createTurnTaking(newDetector());
      return createDialogue({ name: OFFLINE_ENGINE, speak, turnTaking, timing });
    },

    close: () => synthesizer.close(),
  };
}
