import { createSynthesizer, type FliteVoice } from '../../audio/flite.js';
import type { Grammar } from '../../audio/grammar.js';
import { createGrammarStt } from '../../audio/grammar-stt.js';
import { createSessionEngine } from '../session-engine.js';
import type { EngineFactory } from '../port.js';
import { createTurnTaking } from '../../session/turn-taking.js';
import { loadVoiceActivity } from '../../audio/voice-activity.js';
import { findVoice } from '../voices.js';
import { startOfflineSession } from './session.js';
import { OFFLINE_TIMINGS, type OfflineTimings } from './session-setup.js';
import { FIRST_PHRASES } from './phrases.js';
import { createSpeechCache } from './speech-cache.js';

/** The engine's name in every stored result, so that a demo call is not mistaken for a conversation with an LLM. */
export const OFFLINE_ENGINE = 'offline-demo';

/**
 * The engine that needs no provider account and no network: it speaks with flite, recognizes yes and no, digits and
 * listed choices, and asks for the values of the output template. All calls of the process share two threads: TTS and
 * recognition.
 * @param options.report reports errors that do not end a call
 * @param options.recordsEvents whether each result includes the session's events
 */
export function createOfflineEngine(
  options: {
    timing?: Partial<OfflineTimings>;
    report?: (error: Error, callId: string) => void;
    recordsEvents?: boolean;
  } = {},
): EngineFactory {
  const timing = { ...OFFLINE_TIMINGS, ...options.timing };
  const report = options.report ?? (() => undefined);
  const synthesizer = createSynthesizer();
  const grammarStt = createGrammarStt();
  const speak = createSpeechCache(synthesizer);
  let newDetector: Awaited<ReturnType<typeof loadVoiceActivity>> | undefined;

  return {
    name: OFFLINE_ENGINE,

    async warm() {
      newDetector ??= await loadVoiceActivity();
      await Promise.all([synthesizer.warm(), grammarStt.warm()]);
      const { flite } = findVoice('');
      await Promise.all(FIRST_PHRASES.map((line) => speak(line, flite)));
    },

    create() {
      if (newDetector === undefined) throw new Error('the engine must be warmed before it is used');
      const turnTaking = createTurnTaking(newDetector());
      const around = { timing, turnTaking, recordsEvents: options.recordsEvents ?? false };
      return createSessionEngine({
        name: OFFLINE_ENGINE,
        capabilities: { freeForm: false, dtmf: true },
        turnTaking,
        startSession(call, sink) {
          const owner = call.requestOwner;
          const deps = {
            ...around,
            report: (error: Error) => report(error, call.callId),
            speak: (text: string, voice: FliteVoice) => speak(text, voice, owner),
            stt: {
              ...grammarStt,
              recognize: (mulaw: Uint8Array, grammar: Grammar) => grammarStt.recognize(mulaw, grammar, owner),
            },
          };
          return startOfflineSession(deps, call, sink);
        },
      });
    },

    async close() {
      await Promise.all([synthesizer.close(), grammarStt.close()]);
    },
  };
}
