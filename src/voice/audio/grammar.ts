import { withoutTrailing } from '../../kernel/text.js';

/** The answers that speech recognition can match; it reports everything else as not understood. */
export type Grammar =
  | { kind: 'yes-no' }
  /** With `acceptsTypedWords`, typed words are an answer, too. */
  | { kind: 'digits'; acceptsTypedWords?: boolean }
  | { kind: 'choices'; choices: readonly string[] }
  /** Only the commands, which the caller may say at any time. */
  | { kind: 'commands' };

export type Command = 'repeat' | 'operator' | 'hello' | 'goodbye';

/** The meaning of a recognized utterance. */
export type Meaning =
  | { kind: 'yes-no'; value: boolean }
  /** One character, 0 to 9, per spoken digit. */
  | { kind: 'digits'; digits: string }
  /** Which of the grammar's `choices` the caller said: its index in that list. */
  | { kind: 'choice'; index: number }
  /** The words as the caller typed them. Only for a grammar that accepts them. */
  | { kind: 'typed'; text: string }
  | { kind: 'command'; command: Command };

export interface GrammarSource {
  /** A JSGF grammar with one public rule. */
  jsgf: string;
  /** All words of the grammar. The decoder's dictionary must contain each of them. */
  words: readonly string[];
}

const YES = [
  '[oh] (yes | yeah | yep | yup | sure | correct | right | okay | absolutely | definitely | exactly) [please | thanks | thank you]',
  'of course',
  "[yes | yeah] (that is | that's | it is | it's) (right | correct | fine | true | okay | good)",
  'yes (it is | i do | i am | i can | i will | it does | i would | we are | we can)',
];
const NO = [
  '(no | nope | nah | wrong | incorrect | negative) [thank you | thanks | sorry]',
  '[no] not (really | at all)',
  "[no] (that is | that's | it is | it's) (wrong | not right | not correct | incorrect | not true)",
  "no (it is not | it isn't | i do not | i am not | it does not)",
];
const REPEAT = [
  'pardon [me]',
  'sorry [what]',
  'what [was that]',
  'excuse me',
  '(could | can) you (repeat | say) that [again] [please]',
  'say (that | it) again [please]',
  '[please] repeat [that] [again] [please]',
  'i did not (hear | understand) [that | you]',
];
const OPERATOR = ['operator', 'representative', '(speak | talk) to (a human | a person | someone)'];
const HELLO = ['hello', 'hi', 'yes hello', 'hello there', 'good (morning | afternoon | evening)'];
const GOODBYE = ['[thank you | thanks] (goodbye | bye | bye bye)', 'thank you that is all [goodbye]'];

const DIGIT_WORDS: readonly (readonly [word: string, digit: string])[] = [
  ['zero', '0'],
  ['oh', '0'],
  ['one', '1'],
  ['two', '2'],
  ['three', '3'],
  ['four', '4'],
  ['five', '5'],
  ['six', '6'],
  ['seven', '7'],
  ['eight', '8'],
  ['nine', '9'],
];

const RULES: readonly (readonly [rule: string, alternatives: readonly string[]])[] = [
  ['repeat', REPEAT],
  ['operator', OPERATOR],
  ['hello', HELLO],
  ['goodbye', GOODBYE],
];

/**
 * Weights of known phrases and of garbage, which matches any other sounds. Without garbage, the decoder maps every
 * noise to the nearest word. The values are measured: with heavier garbage good answers fail, with lighter garbage "my
 * dog ate the newspaper" becomes a no. They are written without an exponent because JSGF does not allow one.
 */
const WEIGHT = { known: '0.999999999999', garbage: '0.000000000001' };

/**
 * The speech sounds (ARPAbet phones) that the dictionary uses. Each is one word of the grammar's `<garbage>` rule,
 * which matches sounds other than the known phrases.
 */
export const PHONES: readonly string[] =
  'AA AE AH AO AW AY B CH D DH EH ER EY F G HH IH IY JH K L M N NG OW OY P R S SH T TH UH UW V W Y Z ZH'.split(' ');
/**
 * The word for one phone in the grammar's `<garbage>` rule, which matches sounds other than the known phrases. It
 * starts with an underscore, which no other word contains.
 */
export const garbageWord = (phone: string) => `_${phone.toLowerCase()}`;
const GARBAGE = /(?:^| )_/;

/**
 * The JSGF rules for a grammar: its answers, the commands, and a rule that matches all other sounds.
 * @throws UnspeakableChoiceError if a choice contains no pronounceable words
 */
export function sourceOf(grammar: Grammar): GrammarSource {
  const alternatives = answersOf(grammar);
  const garbage = PHONES.map(garbageWord).join(' | ');
  const jsgf = [
    '#JSGF V1.0;',
    'grammar answer;',
    `public <said> = /${WEIGHT.known}/ <known> | /${WEIGHT.garbage}/ <garbage>;`,
    `<known> = ${[...alternatives, ...RULES.map(([rule]) => `<${rule}>`)].join(' | ')};`,
    ...RULES.map(([rule, phrases]) => `<${rule}> = ${phrases.join(' | ')};`),
    `<garbage> = (${garbage})+;`,
  ].join('\n');
  return { jsgf, words: [...new Set([...alternatives, ...RULES.flatMap(([, phrases]) => phrases)].flatMap(wordsIn))] };
}

function answersOf(grammar: Grammar): string[] {
  switch (grammar.kind) {
    case 'yes-no':
      return [...YES, ...NO];
    case 'digits':
      return [`(${DIGIT_WORDS.map(([word]) => word).join(' | ')})+`];
    case 'choices':
      return listenedFor(grammar.choices).map(
        (choice) => `[the | a | an] ${toSpokenWords(choice)} [one] [please | thanks | thank you]`,
      );
    case 'commands':
      return [];
  }
}

export class UnspeakableChoiceError extends Error {
  constructor(readonly choice: string) {
    super(`the choice ${JSON.stringify(choice)} contains no letters or digits`);
  }
}

/** Maximum number of choices. More would slow down the recognition of every utterance. */
const MAX_CHOICES = 20;
const MAX_CHOICE = { characters: 100, words: 16, letters: 30 };

const listenedFor = (choices: readonly string[]) => choices.slice(0, MAX_CHOICES);

/**
 * Converts a choice to the words that a caller says: English letters and digits in lower case, at most 16 words of at
 * most 30 letters each.
 * @throws UnspeakableChoiceError if no word is left
 */
export function toSpokenWords(choice: string): string {
  const words = spokenWordsIn(choice.slice(0, MAX_CHOICE.characters)).split(' ');
  if (words[0] === '') throw new UnspeakableChoiceError(choice);
  return words
    .slice(0, MAX_CHOICE.words)
    .map((word) => word.slice(0, MAX_CHOICE.letters))
    .join(' ');
}

/** Converts a text to English words in lower case, with digits as words. Drops everything else. */
function spokenWordsIn(text: string): string {
  return text
    .normalize('NFD')
    .replace(/\p{M}+/gu, '')
    .replace(/[’‘]/g, "'")
    .replace(/&/g, ' and ')
    .replace(/\d/g, (digit) => ` ${DIGIT_WORDS.find(([, value]) => value === digit)?.[0] ?? ''} `)
    .toLowerCase()
    .split(/[^a-z']+/)
    .map((word) => withoutTrailing(word.replace(/^'+/, ''), "'"))
    .filter((word) => word !== '')
    .join(' ');
}

/**
 * The meaning of the recognized words.
 * @param text words as the decoder returns them
 * @returns undefined if the decoder heard sounds other than the known phrases, or the words do not match the grammar
 */
export function meaningOf(grammar: Grammar, text: string): Meaning | undefined {
  if (text === '' || GARBAGE.test(text)) return undefined;
  const words = text.split(' ');
  // Words like "sorry" occur in commands and in answers, so try the answer first.
  return answerIn(grammar, words) ?? commandIn(text);
}

/**
 * The meaning of words that the caller typed. Unlike recognized words, they can be any.
 * @returns undefined if they do not match the grammar
 */
export function meaningOfTyped(grammar: Grammar, text: string): Meaning | undefined {
  const words = spokenWordsIn(text);
  if (grammar.kind === 'digits' && grammar.acceptsTypedWords === true) return commandInTyped(words) ?? typedWords(text);
  if (!/[a-z\d]/i.test(text)) return undefined;
  // A yes-or-no answer is any that contains no negative word, so it must consist of the known words.
  return grammar.kind === 'yes-no' && !consistsOf(grammar, words) ? undefined : meaningOf(grammar, words);
}

/** A command is recognized by one word, so an answer such as "What a day" must not pass for one. */
function commandInTyped(words: string): Meaning | undefined {
  return consistsOf({ kind: 'commands' }, words) ? commandIn(words) : undefined;
}

function typedWords(text: string): Meaning | undefined {
  return /[\p{L}\p{N}]/u.test(text) ? { kind: 'typed', text: text.trim() } : undefined;
}

/** Whether the recognizer knows all words, as answers of the grammar or as commands. */
function consistsOf(grammar: Grammar, words: string): boolean {
  const known = new Set(sourceOf(grammar).words);
  return words.split(' ').every((word) => known.has(word));
}

function answerIn(grammar: Grammar, words: readonly string[]): Meaning | undefined {
  switch (grammar.kind) {
    case 'yes-no':
      if (commandIn(words.join(' ')) !== undefined) return undefined;
      return { kind: 'yes-no', value: !words.some((word) => NEGATIVE.has(word)) };
    case 'digits': {
      const digits = words.map((word) => DIGIT_WORDS.find(([known]) => known === word)?.[1]);
      return digits.includes(undefined) ? undefined : { kind: 'digits', digits: digits.join('') };
    }
    case 'choices': {
      const said = ` ${words.join(' ')} `;
      // "extra large" contains "large": take the longest choice that was said.
      const [best] = listenedFor(grammar.choices)
        .map((choice, index) => ({ index, phrase: toSpokenWords(choice) }))
        .filter(({ phrase }) => said.includes(` ${phrase} `))
        .toSorted((a, b) => b.phrase.length - a.phrase.length);
      return best && { kind: 'choice', index: best.index };
    }
    case 'commands':
      return undefined;
  }
}

const NEGATIVE = new Set("no nope nah wrong incorrect negative not isn't don't can't doesn't".split(' '));

const COMMANDS: readonly (readonly [command: Command, pattern: RegExp])[] = [
  ['goodbye', /\bbye\b|\bgoodbye\b|\bthat is all\b/],
  ['operator', /\boperator\b|\brepresentative\b|\b(?:speak|talk) to\b/],
  ['repeat', /\bpardon\b|^sorry\b|\bwhat\b|\bexcuse\b|\brepeat\b|\bagain\b|\bsay that\b|\bdid not\b/],
  ['hello', /\bhello\b|\bhi\b|^good (?:morning|afternoon|evening)\b/],
];

function commandIn(text: string): Meaning | undefined {
  const found = COMMANDS.find(([, pattern]) => pattern.test(text));
  return found && { kind: 'command', command: found[0] };
}

function wordsIn(alternative: string): string[] {
  return alternative.match(/[a-z']+/g) ?? [];
}
