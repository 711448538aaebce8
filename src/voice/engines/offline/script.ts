import type { Grammar } from '../../audio/grammar.js';
import type { Recognition } from '../../audio/grammar-stt.js';
import type { ParameterValues } from '../port.js';

/** The next utterance of the agent. */
export interface ScriptedReply {
  /** Spoken as one item; the first part plays while the next is synthesized. */
  parts: readonly string[];
  /** Index of the part that starts the question; absent if nothing is asked. */
  questionAt?: number;
  /** Which side said goodbye, if this reply ends the conversation. A caller who said goodbye may hang up first. */
  over?: 'agent' | 'caller';
}

/** The recognition result of a caller's turn; `not listened` if no words are recognized at this point. */
export type TurnRecognition = Recognition | { outcome: 'not listened' };

/** The content of a conversation from greeting to goodbye. Pure: it does no audio and no timing. */
export interface Script {
  /** The grammar for what the caller may say now; undefined if no words are to be recognized. */
  grammar(): Grammar | undefined;
  /** The first utterance after the introduction. */
  opening(): ScriptedReply;
  /** Repeats the question after a silence. */
  again(): readonly string[];
  /** The agent's first sentence when a call continues after a lost stream. */
  bridge(): ScriptedReply;
  onTurn(heard: TurnRecognition): ScriptedReply;
  /** @returns undefined if more DTMF digits may follow */
  onDigit(digit: string): ScriptedReply | undefined;
  /** Called when no digit has followed for some time. */
  onDigitsPaused(): ScriptedReply | undefined;
  /** The values known so far; null for a question whose answers were not understood. */
  values(): ParameterValues;
  /** Sentences that will probably be said next, to synthesize in advance. */
  upcoming(): readonly string[];
}

/** Builds a reply that asks a question. @param before the parts to say before the question */
export function askQuestion(question: readonly string[], ...before: readonly string[]): ScriptedReply {
  return { parts: [...before, ...question], questionAt: before.length };
}
