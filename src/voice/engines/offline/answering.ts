import type { Grammar, Meaning } from '../../audio/grammar.js';
import { valueIn } from '../../session/parameter-values.js';
import type { ParameterValues } from '../port.js';
import {
  ALL_ANSWERED,
  GOODBYE,
  I_HEARD,
  IS_THAT_RIGHT,
  LEFT_OPEN,
  LET_US_TRY_AGAIN,
  NOT_UNDERSTOOD,
  NO_OPERATOR,
  THANKS,
  YES_OR_NO_BY_KEY,
} from './lines.js';
import type { Question } from './questions.js';
import { asking, type ScriptedReply } from './script.js';

type Value = ParameterValues[string];

/** Maximum retries after answers that were not understood; then the question stays open. */
const MAX_RETRIES = 2;
/** Commands after which a question is repeated without counting as a retry. */
const MAX_REPEATS = 5;
const CONFIRMING: Grammar = { kind: 'yes-no' };

export type Answering = ReturnType<typeof createAnswering>;

/**
 * Processes answers, one question after the other: spoken digits are read back before they count, and a question whose
 * answers were not understood three times gets the value null.
 * @param known values from before a resume, null for questions left open; these are not asked again
 */
export function createAnswering(questions: readonly Question[], known: ParameterValues) {
  const settled = new Map<string, Value>();
  for (const { key } of questions) {
    const value = valueIn(known, key);
    if (value !== undefined) settled.set(key, value);
  }
  let retries = 0;
  let repeats = 0;
  /** Spoken digits awaiting confirmation by a yes. */
  let unconfirmed: Value | undefined;

  const open = () => questions.filter(({ key }) => !settled.has(key));
  const wordsOf = (question: Question) => (unconfirmed === undefined ? question.ask : readBack(unconfirmed));

  function settle(question: Question, value: Value, acknowledgement: readonly string[]): ScriptedReply {
    settled.set(question.key, value);
    retries = 0;
    repeats = 0;
    unconfirmed = undefined;
    const [next] = open();
    if (next !== undefined) return asking(next.ask, ...acknowledgement);
    return { parts: value === null ? [...acknowledgement, ALL_ANSWERED] : [ALL_ANSWERED], over: 'agent' };
  }

  /** After an unusable answer: asks again, or leaves the question open after too many retries. */
  function retry(question: Question, excuse: string, hint: readonly string[]): ScriptedReply {
    retries += 1;
    if (retries > MAX_RETRIES) return settle(question, null, [LEFT_OPEN]);
    return asking([excuse, ...hint]);
  }

  function obey(question: Question, command: Extract<Meaning, { kind: 'command' }>['command']): ScriptedReply {
    if (command === 'goodbye') return { parts: [GOODBYE], over: 'caller' };
    repeats += 1;
    if (repeats > MAX_REPEATS) return retry(question, NOT_UNDERSTOOD, wordsOf(question));
    return command === 'operator' ? asking(wordsOf(question), NO_OPERATOR) : asking(wordsOf(question));
  }

  /** Processes a yes or no to the digits that were read back. */
  function confirm(question: Question, isRight: boolean | undefined): ScriptedReply {
    const value = unconfirmed;
    if (isRight === undefined || value === undefined) return retry(question, NOT_UNDERSTOOD, [YES_OR_NO_BY_KEY]);
    if (isRight) return settle(question, value, [THANKS]);
    unconfirmed = undefined;
    return retry(question, LET_US_TRY_AGAIN, [question.hint]);
  }

  return {
    /** The questions without an answer; the first one is asked now. */
    open,
    /** The text of the current question, or the digits read back. */
    wordsOf,
    isConfirming: () => unconfirmed !== undefined,
    grammar: () => (unconfirmed === undefined ? open()[0]?.grammar : CONFIRMING),
    values: () => Object.fromEntries(settled),
    retry,
    confirm,

    /** Processes a spoken answer. */
    take(question: Question, meaning: Meaning): ScriptedReply {
      if (meaning.kind === 'command') return obey(question, meaning.command);
      if (unconfirmed !== undefined) return confirm(question, meaning.kind === 'yes-no' ? meaning.value : undefined);
      const value = question.valueOf(meaning);
      if (value === undefined) return retry(question, NOT_UNDERSTOOD, [question.hint]);
      if (question.kind !== 'digits') return settle(question, value, acknowledged(question, value));
      unconfirmed = value;
      return asking(readBack(value));
    },

    /** Processes an answer by DTMF digits, which counts without confirmation. */
    takeKeys(question: Question, keys: string): ScriptedReply {
      const value = question.valueOfKeys(keys);
      if (value === undefined) return retry(question, NOT_UNDERSTOOD, [question.keyHint]);
      return settle(question, value, acknowledged(question, value));
    },
  };
}

function readBack(value: Value): readonly string[] {
  return [I_HEARD, `${String(value).split('').join(', ')}.`, IS_THAT_RIGHT];
}

/** Repeats a choice, so that the caller can object; a yes or no needs no echo. */
function acknowledged(question: Question, value: Value): readonly string[] {
  return question.kind === 'choice' ? [`${question.inWords(value)}.`, THANKS] : [THANKS];
}
