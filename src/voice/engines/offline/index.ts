import { createSynthesizer, type FliteVoice } from '../../audio/flite.js';
import type { Grammar } from '../../audio/grammar.js';
import { createRecogniser } from '../../audio/recogniser.js';
import { createEngineOfTalk } from '../engine-of-talk.js';
import type { EngineFactory } from '../port.js';
import { createTurnTaking } from '../../session/turn-taking.js';
import { loadVoiceActivity } from '../../audio/voice-activity.js';
import { voiceNamed } from '../voices.js';
import { startScriptedDialogue } from './dialogue.js';
import { DIALOGUE_TIMING, type DialogueTiming } from './dialogue-settings.js';
import { FIRST_LINES } from './lines.js';
import { createSpokenLines } from './spoken-lines.js';

/** Stored with every result, so that a demo call is not mistaken for a conversation with an LLM. */
export const OFFLINE_ENGINE = 'offline-demo';

/**
 * The engine that needs no provider account and no network: it speaks with flite, recognizes yes and no, digits and
 * listed choices, and asks for the values of the output template. All calls of the process share two threads: TTS and
 * recognition.
 * @param options.report reports errors that do not end a call
 * @param options.recordsEvents whether each result includes the session's events
 */
export function createOfflineEngine(
  options: { timing?: Partial<DialogueTiming>; report?: (error: Error) => void; recordsEvents?: boolean } = {},
): EngineFactory {
  const timing = { ...DIALOGUE_TIMING, ...options.timing };
  const report = options.report ?? (() => undefined);
  const synthesizer = createSynthesizer();
  const recogniser = createRecogniser();
  const speak = createSpokenLines(synthesizer);
  let newDetector: Awaited<ReturnType<typeof loadVoiceActivity>> | undefined;

  return {
    name: OFFLINE_ENGINE,

    async warm() {
      newDetector ??= await loadVoiceActivity();
      await Promise.all([synthesizer.warm(), recogniser.warm()]);
      const { flite } = voiceNamed('');
      await Promise.all(FIRST_LINES.map((line) => speak(line, flite)));
    },

    create() {
      if (newDetector === undefined) throw new Error('the engine must be warmed before it is used');
      const turnTaking = createTurnTaking(newDetector());
      const around = { timing, turnTaking, recordsEvents: options.recordsEvents ?? false, report };
      return createEngineOfTalk({
        name: OFFLINE_ENGINE,
        capabilities: { freeForm: false, dtmf: true },
        turnTaking,
        begin(call, sink) {
          const of = call.askedBy;
          const deps = {
            ...around,
            speak: (text: string, voice: FliteVoice) => speak(text, voice, of),
            recogniser: {
              ...recogniser,
              recognise: (mulaw: Uint8Array, grammar: Grammar) => recogniser.recognise(mulaw, grammar, of),
            },
          };
          return startScriptedDialogue(deps, call, sink);
        },
      });
    },

    async close() {
      await Promise.all([synthesizer.close(), recogniser.close()]);
    },
  };
}
