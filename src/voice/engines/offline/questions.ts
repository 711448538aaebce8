import { toSpokenWords, UnspeakableChoiceError } from '../../audio/grammar.js';
import type { Grammar, Meaning } from '../../audio/grammar.js';
import type { ParameterValues } from '../port.js';
import {
  KEY_DIGITS,
  SAY_DIGIT_BY_DIGIT,
  SAY_DIGITS,
  TYPE_OR_SAY_DIGITS,
  TYPE_OR_SAY_DIGIT_BY_DIGIT,
  YES_OR_NO,
  YES_OR_NO_BY_KEY,
} from './phrases.js';

type Value = ParameterValues[string];

/** A question for one key of the output template. */
export interface Question {
  key: string;
  /** The key as words. */
  name: string;
  kind: 'yes-no' | 'digits' | 'choice';
  ask: readonly string[];
  /** Said after a spoken answer that was not understood. */
  hint: string;
  /** Hint to use the phone's keys, when speech cannot be recognized. */
  dtmfHint: string;
  grammar: Grammar;
  /** The value of a spoken answer; undefined if the words do not answer the question. */
  valueOf(meaning: Meaning): Value | undefined;
  /** The value of DTMF digits; undefined if they do not answer the question. */
  valueOfDigits(digits: string): Value | undefined;
  /** The value as words, for the confirmation and the summary. */
  inWords(value: Value): string;
}

const MAX_NAME_CHARACTERS = 80;
const MAX_CHOICES = 9;
/** Only this much of a longer choice is said and recognized; the value is the whole choice. */
const MAX_CHOICE_CHARACTERS = 40;
const MAX_DIGITS = 32;
/** Maximum digits of a number. Numbers with more digits are not exact in JSON. */
const MAX_DIGITS_OF_NUMBER = 15;

/**
 * The questions that fill a template: a boolean asks yes or no, a text like `small|medium|large` offers choices,
 * anything else asks for digits, which become a number if the default is one. A caller who types can answer a question
 * for a text with any words. Defaults are never used as answers.
 * @param canType whether the caller can type, so that a question for a text says so
 */
export function createQuestions(template: ParameterValues, canType = false): Question[] {
  return Object.entries(template).map(([key, value]) => {
    if (typeof value === 'boolean') return yesNoQuestion(key);
    const choices = typeof value === 'string' ? choicesIn(value) : [];
    if (choices.length > 1) return choiceQuestion(key, choices);
    return typeof value === 'number' ? digitsQuestion(key, true) : textQuestion(key, canType);
  });
}

/** Converts `party_size` and `partySize` to `party size`. */
export function humanizeKey(key: string): string {
  const words = key
    .replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
    .toLowerCase();
  return words.slice(0, MAX_NAME_CHARACTERS).trim() || 'next answer';
}

function yesNoQuestion(key: string): Question {
  const name = humanizeKey(key);
  return {
    key,
    name,
    kind: 'yes-no',
    ask: [`${capitalize(name)}?`, YES_OR_NO],
    hint: YES_OR_NO_BY_KEY,
    dtmfHint: 'Press 1 for yes or 2 for no.',
    grammar: { kind: 'yes-no' },
    valueOf: (meaning) => (meaning.kind === 'yes-no' ? meaning.value : undefined),
    valueOfDigits: yesNoOfDigit,
    inWords: (value) => (value === true ? 'yes' : 'no'),
  };
}

/** 1 is yes, 2 is no; undefined for other keys. */
export function yesNoOfDigit(digit: string): boolean | undefined {
  return digit === '1' ? true : digit === '2' ? false : undefined;
}

function digitsQuestion(key: string, asNumber: boolean): Question {
  const name = humanizeKey(key);
  const valueOfDigits = (digits: string) => {
    if (!/^\d+$/.test(digits) || digits.length > (asNumber ? MAX_DIGITS_OF_NUMBER : MAX_DIGITS)) return undefined;
    return asNumber ? Number(digits) : digits;
  };
  return {
    key,
    name,
    kind: 'digits',
    ask: [`What is your ${name}?`, SAY_DIGITS],
    hint: SAY_DIGIT_BY_DIGIT,
    dtmfHint: KEY_DIGITS,
    grammar: { kind: 'digits' },
    valueOf: (meaning) => (meaning.kind === 'digits' ? valueOfDigits(meaning.digits) : undefined),
    valueOfDigits,
    inWords: String,
  };
}

/** Asks for a text. Its words are only known if they are typed, so a caller who speaks can say digits only. */
function textQuestion(key: string, canType: boolean): Question {
  const question = digitsQuestion(key, false);
  return {
    ...question,
    ...(canType
      ? { ask: [`What is your ${question.name}?`, TYPE_OR_SAY_DIGITS], hint: TYPE_OR_SAY_DIGIT_BY_DIGIT }
      : {}),
    grammar: { kind: 'digits', acceptsTypedWords: true },
    valueOf: (meaning) => (meaning.kind === 'typed' ? meaning.text : question.valueOf(meaning)),
  };
}

function choiceQuestion(key: string, choices: readonly string[]): Question {
  const name = humanizeKey(key);
  const said = choices.map(shortened);
  const sayable = choices.filter((_, index) => isSpeakable(said[index] ?? ''));
  const digitHints = said.map((choice, index) => `${index + 1} for ${choice}`).join(', ');
  return {
    key,
    name,
    kind: 'choice',
    ask: [`Which ${name}: ${listed(said)}?`],
    hint: `Please say one of them, or press ${digitHints}.`,
    dtmfHint: `Press ${digitHints}.`,
    grammar: sayable.length === 0 ? { kind: 'commands' } : { kind: 'choices', choices: sayable.map(shortened) },
    valueOf: (meaning) => (meaning.kind === 'choice' ? sayable[meaning.index] : undefined),
    valueOfDigits: (pressed) => (/^[1-9]$/.test(pressed) ? choices[Number(pressed) - 1] : undefined),
    inWords: (value) => shortened(String(value)),
  };
}

/** Splits a text into at most 9 choices, one for each of the phone's keys 1 to 9. */
function choicesIn(text: string): string[] {
  const choices = text
    .split('|')
    .map((choice) => choice.trim())
    .filter((choice) => choice !== '');
  return [...new Set(choices)].slice(0, MAX_CHOICES);
}

/** Shortens a choice, at a word boundary if possible. */
function shortened(choice: string): string {
  if (choice.length <= MAX_CHOICE_CHARACTERS) return choice;
  const space = choice.lastIndexOf(' ', MAX_CHOICE_CHARACTERS);
  return choice.slice(0, space > 0 ? space : MAX_CHOICE_CHARACTERS);
}

function isSpeakable(choice: string): boolean {
  try {
    return toSpokenWords(choice) !== '';
  } catch (error) {
    if (error instanceof UnspeakableChoiceError) return false;
    throw error;
  }
}

function listed(choices: readonly string[]): string {
  return `${choices.slice(0, -1).join(', ')} or ${choices.at(-1) ?? ''}`;
}

function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
