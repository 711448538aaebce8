import type { Grammar, Meaning } from '../../audio/grammar.js';
import { valueIn } from '../../session/parameter-values.js';
import type { ParameterValues } from '../port.js';
import {
  ALL_ANSWERED,
  CANNOT_LISTEN,
  GOODBYE,
  I_HEARD,
  IS_THAT_RIGHT,
  LEFT_OPEN,
  LET_US_TRY_AGAIN,
  LINE_BROKE,
  NO_OPERATOR,
  NOT_UNDERSTOOD,
  THANKS,
  YES_OR_NO_BY_KEY,
} from './lines.js';
import { yesNoOfKey } from './questions.js';
import type { Question } from './questions.js';
import type { ScriptedReply, Script } from './script.js';

type Value = ParameterValues[string];

/** After so many answers that were not understood a question stays open. */
const MAX_RETRIES = 2;
/** A question is said again so often without that counting as an answer. */
const MAX_REPEATS = 5;
const CONFIRMING: Grammar = { kind: 'yes-no' };

/**
 * One question after the other. Spoken digits are read back before they count; keys count at once; what was not
 * understood three times stays null. Nothing is ever guessed.
 * @param known values from before the line broke; their questions are not asked again
 */
export function createInterview(questions: readonly Question[], known: ParameterValues = {}): Script {
  const settled = new Map<string, Value>();
  for (const { key } of questions) {
    const value = valueIn(known, key);
    if (value !== undefined && value !== null) settled.set(key, value);
  }
  let retries = 0;
  let repeats = 0;
  let keys = '';
  /** Spoken digits that wait for a yes. */
  let unconfirmed: Value | undefined;

  const current = () => questions.find(({ key }) => !settled.has(key));

  function settle(question: Question, value: Value, acknowledgement: readonly string[]): ScriptedReply {
    settled.set(question.key, value);
    retries = 0;
    repeats = 0;
    keys = '';
    unconfirmed = undefined;
    const next = current();
    if (next !== undefined) return { parts: [...acknowledgement, ...next.ask] };
    return { parts: value === null ? [...acknowledgement, ALL_ANSWERED] : [ALL_ANSWERED], over: 'agent' };
  }

  /** An answer that was none: asked again, or left open. */
  function retry(question: Question, excuse: string, hint: readonly string[]): ScriptedReply {
    keys = '';
    retries += 1;
    if (retries > MAX_RETRIES) return settle(question, null, [LEFT_OPEN]);
    return { parts: [excuse, ...hint] };
  }

  function readBack(value: Value): readonly string[] {
    return [I_HEARD, `${String(value).split('').join(', ')}.`, IS_THAT_RIGHT];
  }

  const currentWords = (question: Question) => (unconfirmed === undefined ? question.ask : readBack(unconfirmed));

  function again(): readonly string[] {
    const question = current();
    return question === undefined ? [] : currentWords(question);
  }

  function obey(question: Question, command: Extract<Meaning, { kind: 'command' }>['command']): ScriptedReply {
    if (command === 'goodbye') return { parts: [GOODBYE], over: 'caller' };
    repeats += 1;
    if (repeats > MAX_REPEATS) return retry(question, NOT_UNDERSTOOD, currentWords(question));
    return { parts: command === 'operator' ? [NO_OPERATOR, ...currentWords(question)] : currentWords(question) };
  }

  function confirm(question: Question, value: Value, isRight: boolean | undefined): ScriptedReply {
    if (isRight === true) return settle(question, value, [THANKS]);
    if (isRight === undefined) return retry(question, NOT_UNDERSTOOD, [YES_OR_NO_BY_KEY]);
    unconfirmed = undefined;
    return retry(question, LET_US_TRY_AGAIN, [question.hint]);
  }

  function take(question: Question, meaning: Meaning): ScriptedReply {
    if (meaning.kind === 'command') return obey(question, meaning.command);
    if (unconfirmed !== undefined) {
      return confirm(question, unconfirmed, meaning.kind === 'yes-no' ? meaning.value : undefined);
    }
    const value = question.valueOf(meaning);
    if (value === undefined) return retry(question, NOT_UNDERSTOOD, [question.hint]);
    if (question.kind !== 'digits') return settle(question, value, acknowledged(question, value));
    unconfirmed = value;
    return { parts: readBack(value) };
  }

  function endOfKeys(question: Question): ScriptedReply {
    const value = question.valueOfKeys(keys);
    if (value === undefined) return retry(question, NOT_UNDERSTOOD, [question.keyHint]);
    return settle(question, value, acknowledged(question, value));
  }

  return {
    grammar: () => (unconfirmed === undefined ? current()?.grammar : CONFIRMING),
    opening: () => current()?.ask ?? [],
    again,
    bridge: () => [LINE_BROKE, ...again()],

    onHeard(heard) {
      const question = current();
      if (question === undefined) return { parts: [ALL_ANSWERED], over: 'agent' };
      if (heard.outcome === 'understood') {
        keys = '';
        return take(question, heard.meaning);
      }
      const asked = unconfirmed === undefined;
      if (heard.outcome !== 'not understood') {
        return retry(question, CANNOT_LISTEN, [asked ? question.keyHint : YES_OR_NO_BY_KEY]);
      }
      return retry(question, NOT_UNDERSTOOD, [asked ? question.hint : YES_OR_NO_BY_KEY]);
    },

    onKey(key) {
      const question = current();
      if (question === undefined) return { parts: [ALL_ANSWERED], over: 'agent' };
      // A pound key alone ends an answer that was taken already: with its first key, or after a pause.
      if (key === '*' || (key === '#' && keys === '')) {
        keys = '';
        return { parts: currentWords(question) };
      }
      if (unconfirmed !== undefined) return confirm(question, unconfirmed, yesNoOfKey(key));
      if (question.kind === 'digits' && key !== '#') {
        keys += key;
        return undefined;
      }
      if (question.kind !== 'digits') keys = key;
      return endOfKeys(question);
    },

    onKeysPaused() {
      const question = current();
      return question === undefined || keys === '' ? undefined : endOfKeys(question);
    },

    values: () => Object.fromEntries(settled),
    upcoming() {
      const next = questions.filter(({ key }) => !settled.has(key))[1];
      return [...(next?.ask ?? [ALL_ANSWERED]), current()?.hint ?? ALL_ANSWERED];
    },
  };
}

/** What was chosen is said, so that the caller can object; a yes or no needs no echo. */
function acknowledged(question: Question, value: Value): readonly string[] {
  return question.kind === 'choice' ? [`${question.inWords(value)}.`, THANKS] : [THANKS];
}
