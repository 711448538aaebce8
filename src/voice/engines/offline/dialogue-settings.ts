import { filled } from '../../session/prompt.js';
import { SESSION_POLICY } from '../../session/reducer/policy.js';
import type { SessionSetup } from '../../session/reducer/state.js';
import type { EngineCall, TranscriptTurn } from '../port.js';
import { GREETING_WITHOUT_DISCLOSURE, INTRODUCTION, openingOf } from './lines.js';

/** Times in ms; tests override them. */
export interface DialogueTiming {
  /** Pause before the greeting. */
  greetAfterMs: number;
  /** Silence of both sides before the agent asks whether the caller is still there. */
  promptAfterMs: number;
  /** Silence of the caller before the call ends. */
  endAfterMs: number;
}

export const DIALOGUE_TIMING: DialogueTiming = {
  greetAfterMs: 250,
  promptAfterMs: SESSION_POLICY.silence.repromptAfterMs,
  endAfterMs: SESSION_POLICY.silence.endAfterMs,
};

/** Longer than the speech-to-text timeouts, so that recognition itself gives up on a turn first. */
const STALLED_AFTER_MS = 15_000;

/** This engine's session setup: it recognizes each turn that VAD ends, and decides when DTMF digits are complete. */
export function scriptedSetup({ promptAfterMs, endAfterMs }: DialogueTiming, call: EngineCall): SessionSetup {
  return {
    policy: {
      ...SESSION_POLICY,
      silence: { repromptAfterMs: promptAfterMs, endAfterMs },
      turns: { ...SESSION_POLICY.turns, stalledAfterMs: STALLED_AFTER_MS },
    },
    capabilities: { endsTurns: 'engine', completesDigits: 'engine' },
    // Without a configured message, the agent leaves the introduction.
    voicemail: { action: call.voicemail.action, hasMessage: true },
    isInbound: call.direction === 'inbound',
    resumed: call.resume !== undefined,
    introduced: heardOwnIntroduction(call),
  };
}

/** Whether the caller heard the whole disclosure on an earlier stream, recognized by its text in the transcript. */
function heardOwnIntroduction({ resume, disclosesAi }: EngineCall): boolean {
  const lines = (resume?.turns ?? []).filter(({ speaker }) => speaker === 'agent');
  return disclosesAi ? lines.some(isIntroduction) : lines.length > 0;
}

/** The transcript of an interrupted sentence contains only the words that were heard. */
function isIntroduction({ text }: TranscriptTurn): boolean {
  return text.startsWith(INTRODUCTION);
}

/** The greeting: the disclosure, if required, and the first sentence of the instruction. */
export function introductionOf({ instruction, inputParameters, disclosesAi }: EngineCall): string[] {
  const opening = openingOf(filled(instruction, inputParameters));
  if (disclosesAi) return opening === '' ? [INTRODUCTION] : [INTRODUCTION, opening];
  return [opening === '' ? GREETING_WITHOUT_DISCLOSURE : opening];
}
