import { splitSpeech } from '../../audio/speech-pieces.js';
import { fillParameters } from '../../session/prompt.js';
import { firstMessageOf } from '../../session/settings/first-message.js';
import { SESSION_POLICY } from '../../session/reducer/policy.js';
import type { SessionSetup } from '../../session/reducer/state.js';
import type { EngineCall } from '../port.js';
import { GREETING_WITHOUT_DISCLOSURE, INTRODUCTION, firstSentence } from './phrases.js';

/** Times in ms; tests override them. */
export interface OfflineTimings {
  /** Pause before the greeting. */
  greetAfterMs: number;
  /** Silence of both sides before the agent asks whether the caller is still there. */
  promptAfterMs: number;
  /** Silence of the caller before the call ends. */
  endAfterMs: number;
}

export const OFFLINE_TIMINGS: OfflineTimings = {
  greetAfterMs: 250,
  promptAfterMs: SESSION_POLICY.silence.repromptAfterMs,
  endAfterMs: SESSION_POLICY.silence.endAfterMs,
};

/** When a turn without a result counts as stalled. Longer than all STT timeouts, so that those are reached first. */
const STALLED_AFTER_MS = 15_000;

/**
 * The session setup of the offline engine, which recognizes each turn that VAD ends, and decides when DTMF digits are
 * complete.
 */
export function offlineSetup({ promptAfterMs, endAfterMs }: OfflineTimings, call: EngineCall): SessionSetup {
  return {
    policy: {
      ...SESSION_POLICY,
      silence: { repromptAfterMs: promptAfterMs, endAfterMs },
      turns: { ...SESSION_POLICY.turns, stalledAfterMs: STALLED_AFTER_MS },
      // Replies of this engine cost nothing, so the number of replies at the start need not be limited.
      replies: { ...SESSION_POLICY.replies, atStart: SESSION_POLICY.replies.atOnce },
    },
    capabilities: { endsTurns: 'engine', completesDigits: 'engine' },
    // Without a configured message, the agent leaves the introduction as its message.
    voicemail: { action: call.voicemail.action, hasMessage: true },
    // The first message is the beginning of this engine's introduction, before its first question.
    opening: { waitsForCaller: call.settings?.firstSpeaker === 'caller' },
    isInbound: call.direction === 'inbound',
    resumed: call.resume !== undefined,
    introduced: heardOwnIntroduction(call),
  };
}

/**
 * Whether the caller heard, on an earlier stream, the whole sentence that says that the agent is a machine. The
 * sentence is recognized by its text in the transcript, because that of an interrupted sentence has only the words that
 * were heard.
 */
function heardOwnIntroduction(call: EngineCall): boolean {
  const lines = (call.resume?.turns ?? []).filter(({ speaker }) => speaker === 'agent');
  const [introduction = INTRODUCTION] = buildIntroduction(call);
  return call.disclosesAi ? lines.some(({ text }) => text.startsWith(introduction)) : lines.length > 0;
}

/** The greeting: the agent's first message, or the disclosure that the agent is a machine, if required, and the first sentence of the instruction. */
export function buildIntroduction(call: EngineCall): string[] {
  const { instruction, inputParameters, disclosesAi } = call;
  const message = firstMessageOf(call);
  if (message !== undefined) return splitSpeech(message);
  const opening = firstSentence(fillParameters(instruction, inputParameters));
  if (disclosesAi) return opening === '' ? [INTRODUCTION] : [INTRODUCTION, opening];
  return [opening === '' ? GREETING_WITHOUT_DISCLOSURE : opening];
}
