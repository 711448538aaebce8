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
} from './phrases.js';
import type { Question } from './questions.js';
import { askQuestion, type ScriptedReply } from './script.js';

type Value = ParameterValues[string];

/**
 * How often a question is asked again after an answer that was not understood. After that, the question gets the value
 * null.
 */
const MAX_RETRIES = 2;
/**
 * How often the caller can ask to repeat a question. Each further request counts as an answer that was not understood.
 */
const MAX_REPEATS = 5;
const CONFIRMING: Grammar = { kind: 'yes-no' };

export type AnswerCollector = ReturnType<typeof createAnswerCollector>;

/**
 * Processes answers, one question after the other: spoken digits are read back before they count, and a question whose
 * answers were not understood three times gets the value null.
 * @param known values from before a resume; null for a question whose answers were not understood. Questions with a
 * value or null are not asked again.
 */
export function createAnswerCollector(questions: readonly Question[], known: ParameterValues) {
  const settled = new Map<string, Value>();
  for (const { key } of questions) {
    const value = valueIn(known, key);
    if (value !== undefined) settled.set(key, value);
  }
  let retries = 0;
  let repeats = 0;
  /** Spoken digits awaiting confirmation by a yes. */
  let unconfirmed: Value | undefined;

  const openQuestions = () => questions.filter(({ key }) => !settled.has(key));
  const textOf = (question: Question) => (unconfirmed === undefined ? question.ask : readBack(unconfirmed));

  function settle(question: Question, value: Value, acknowledgement: readonly string[]): ScriptedReply {
    settled.set(question.key, value);
    retries = 0;
    repeats = 0;
    unconfirmed = undefined;
    const [next] = openQuestions();
    if (next !== undefined) return askQuestion(next.ask, ...acknowledgement);
    return { parts: value === null ? [...acknowledgement, ALL_ANSWERED] : [ALL_ANSWERED], over: 'agent' };
  }

  /** Handles an unusable answer: asks the question again or, after too many retries, gives it the value null. */
  function retry(question: Question, excuse: string, hint: readonly string[]): ScriptedReply {
    retries += 1;
    if (retries > MAX_RETRIES) return settle(question, null, [LEFT_OPEN]);
    return askQuestion([excuse, ...hint]);
  }

  function handleCommand(question: Question, command: Extract<Meaning, { kind: 'command' }>['command']): ScriptedReply {
    if (command === 'goodbye') return { parts: [GOODBYE], over: 'caller' };
    repeats += 1;
    if (repeats > MAX_REPEATS) return retry(question, NOT_UNDERSTOOD, textOf(question));
    return command === 'operator' ? askQuestion(textOf(question), NO_OPERATOR) : askQuestion(textOf(question));
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
    openQuestions,
    /** The text of the current question, or the digits read back. */
    textOf,
    isConfirming: () => unconfirmed !== undefined,
    grammar: () => (unconfirmed === undefined ? openQuestions()[0]?.grammar : CONFIRMING),
    values: () => Object.fromEntries(settled),
    retry,
    confirm,

    /** Processes a spoken or typed answer. Typed words are exact, so they count without confirmation. */
    takeWords(question: Question, meaning: Meaning): ScriptedReply {
      if (meaning.kind === 'command') return handleCommand(question, meaning.command);
      if (unconfirmed !== undefined) return confirm(question, meaning.kind === 'yes-no' ? meaning.value : undefined);
      const value = question.valueOf(meaning);
      if (value === undefined) return retry(question, NOT_UNDERSTOOD, [question.hint]);
      if (question.kind !== 'digits' || meaning.kind === 'typed')
        return settle(question, value, acknowledged(question, value));
      unconfirmed = value;
      return askQuestion(readBack(value));
    },

    /** Processes an answer by DTMF digits, which counts without confirmation. */
    takeDigits(question: Question, digits: string): ScriptedReply {
      const value = question.valueOfDigits(digits);
      if (value === undefined) return retry(question, NOT_UNDERSTOOD, [question.dtmfHint]);
      return settle(question, value, acknowledged(question, value));
    },
  };
}

function readBack(value: Value): readonly string[] {
  return [I_HEARD, `${String(value).split('').join(', ')}.`, IS_THAT_RIGHT];
}

/** Repeats the chosen answer, so that the caller can object. A yes or no is not repeated. */
function acknowledged(question: Question, value: Value): readonly string[] {
  return question.kind === 'choice' ? [`${question.inWords(value)}.`, THANKS] : [THANKS];
}
