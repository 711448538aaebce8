import { filled } from '../../session/prompt.js';
import { SESSION_POLICY } from '../../session/reducer/policy.js';
import type { SessionSetup } from '../../session/reducer/state.js';
import type { EngineCall, TranscriptTurn } from '../port.js';
import { GREETING_WITHOUT_DISCLOSURE, INTRODUCTION, openingOf } from './lines.js';

/** Times that tests change, ms. */
export interface DialogueTiming {
  /** Pause before the greeting. */
  greetAfterMs: number;
  /** Mutual silence until the caller is asked whether they are there. */
  promptAfterMs: number;
  /** Silence of the caller until the call is ended. */
  endAfterMs: number;
}

export const DIALOGUE_TIMING: DialogueTiming = {
  greetAfterMs: 250,
  promptAfterMs: SESSION_POLICY.silence.repromptAfterMs,
  endAfterMs: SESSION_POLICY.silence.endAfterMs,
};

/** The recognizer gives every turn up sooner, by itself. */
const STALLED_AFTER_MS = 15_000;

/** How sessions go on here: each turn that voice detection ends is understood, and the script knows what is asked. */
export function scriptedSetup({ promptAfterMs, endAfterMs }: DialogueTiming, call: EngineCall): SessionSetup {
  return {
    policy: {
      ...SESSION_POLICY,
      silence: { repromptAfterMs: promptAfterMs, endAfterMs },
      turns: { ...SESSION_POLICY.turns, stalledAfterMs: STALLED_AFTER_MS },
    },
    capabilities: { endsTurns: 'engine', completesDigits: 'engine' },
    // Without a message the introduction is left.
    voicemail: { action: call.voicemail.action, hasMessage: true },
    isInbound: call.direction === 'inbound',
    resumed: call.resume !== undefined,
    introduced: heardOwnIntroduction(call),
  };
}

/** Whether the caller heard the whole disclosure on an earlier stream. The engine recognizes it by its words. */
function heardOwnIntroduction({ resume, disclosesAi }: EngineCall): boolean {
  const lines = (resume?.turns ?? []).filter(({ speaker }) => speaker === 'agent');
  return disclosesAi ? lines.some(isIntroduction) : lines.length > 0;
}

/** An interrupted line is stored with the words that were heard. */
function isIntroduction({ text }: TranscriptTurn): boolean {
  return text.startsWith(INTRODUCTION);
}

/** Who speaks, and what about: the instruction's first sentence. */
export function introductionOf({ instruction, inputParameters, disclosesAi }: EngineCall): string[] {
  const opening = openingOf(filled(instruction, inputParameters));
  if (disclosesAi) return opening === '' ? [INTRODUCTION] : [INTRODUCTION, opening];
  return [opening === '' ? GREETING_WITHOUT_DISCLOSURE : opening];
}
