import { createSynthesizer } from '../../audio/flite.js';
import { createRecogniser } from '../../audio/recogniser.js';
import type { Asker } from '../../audio/turns.js';
import type { EngineFactory } from '../port.js';
import { createTurnTaking } from '../../session/turn-taking.js';
import { loadVoiceActivity } from '../../audio/voice-activity.js';
import { voiceNamed } from '../voices.js';
import { createScriptedCall } from './scripted-call.js';
import { DIALOGUE_TIMING, type DialogueTiming } from './dialogue-settings.js';
import { FIRST_LINES } from './lines.js';
import { createSpokenLines } from './spoken-lines.js';

/** Stamped on every result, so that nobody takes it for a conversation with a model. */
export const OFFLINE_ENGINE = 'offline-demo';

/**
 * The engine that needs no account and no network: it speaks by flite, understands yes and no, digits and listed choices,
 * and asks for what the output template names. One thread speaks and one listens for all calls of the process.
 * @param options.report told of faults that a call outlives
 * @param options.recordsEvents whether the events of each session are part of its result
 */
export function createOfflineEngine(
  options: { timing?: Partial<DialogueTiming>; report?: (error: Error) => void; recordsEvents?: boolean } = {},
): EngineFactory {
  const timing = { ...DIALOGUE_TIMING, ...options.timing };
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
      let asker: Asker | undefined;
      const engine = createScriptedCall({
        name: OFFLINE_ENGINE,
        speak: (text, voice) => speak(text, voice, asker),
        recogniser: { ...recogniser, recognise: (mulaw, grammar) => recogniser.recognise(mulaw, grammar, asker) },
        turnTaking: createTurnTaking(newDetector()),
        timing,
        recordsEvents: options.recordsEvents ?? false,
        report: options.report ?? (() => undefined),
      });
      return {
        ...engine,
        start(call, sink) {
          asker = call.askedBy;
          return engine.start(call, sink);
        },
      };
    },

    async close() {
      await Promise.all([synthesizer.close(), recogniser.close()]);
    },
  };
}
