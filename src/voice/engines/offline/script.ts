import type { Grammar } from '../../audio/grammar.js';
import type { Recognition } from '../../audio/recogniser.js';
import type { ParameterValues } from '../port.js';

/** What is said next. */
export interface ScriptedReply {
  /** Spoken as one item, the first part while the next is made. */
  parts: readonly string[];
  /** The part that the question begins with; absent: nothing is asked. */
  questionAt?: number;
  /** The talk is over with it, and whose goodbye it was: a far end that said it hangs up itself. */
  over?: 'agent' | 'caller';
}

/** What came of one turn of the caller; nothing is listened to where no words are understood. */
export type Heard = Recognition | { outcome: 'not listened' };

/** What the talk is made of, from its greeting to its goodbye. Pure: it neither hears, speaks nor waits. */
export interface Script {
  /** What is understood at this point; undefined: no words at all. */
  grammar(): Grammar | undefined;
  /** What is said at the beginning, after the introduction. */
  opening(): ScriptedReply;
  /** What is said again to someone who is silent. */
  again(): readonly string[];
  /** What is said when the line broke and is back. */
  bridge(): ScriptedReply;
  onHeard(heard: Heard): ScriptedReply;
  /** @returns undefined when more keys are to come */
  onKey(key: string): ScriptedReply | undefined;
  /** No key was pressed for some time. */
  onKeysPaused(): ScriptedReply | undefined;
  /** Values that are settled so far; a null was asked for in vain. */
  values(): ParameterValues;
  /** What will probably be said next, to be made ready. */
  upcoming(): readonly string[];
}

/** A reply that asks something. @param before what is said before the question */
export function asking(question: readonly string[], ...before: readonly string[]): ScriptedReply {
  return { parts: [...before, ...question], questionAt: before.length };
}
