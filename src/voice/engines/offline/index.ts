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
