import { END, endsSentenceBefore } from '../sentence-ends.js';
import { SILENT_GOODBYE, SORRY } from '../offline-phrases.js';

/**
 * The fixed sentences of the offline engine. All other sentences that it says are made from the call's instruction,
 * questions and answers.
 */
export const INTRODUCTION = 'Hello. This is an automated assistant.';
export const GREETING_WITHOUT_DISCLOSURE = 'Hello.';
export const REPLIES: readonly string[] = [
  'Thank you, I have noted that.',
  'I see. Please continue.',
  'Understood. Is there anything else?',
  'Thank you. I have noted that too.',
];
export const GOODBYE = 'Thank you for your time. Goodbye.';
export const ARE_YOU_THERE = 'Are you still there?';
export const TWENTY_SECONDS_LEFT = 'We have about twenty seconds left.';
export const FEW_SECONDS_LEFT = 'We have only a few seconds left.';
export const LINE_BROKE = 'Sorry, the line broke for a moment.';
/** The agent's first sentence when a call without an open question continues after a lost stream. */
export const BRIDGE = `${LINE_BROKE} Please continue.`;

export const THANKS = 'Thank you.';
export const ALL_ANSWERED = 'Thank you. That is all I need to know. Goodbye.';
export const NOT_UNDERSTOOD = 'Sorry, I did not understand.';
export const CANNOT_LISTEN = 'Sorry, I cannot listen to you right now. Please use the keypad of your phone.';
export const LEFT_OPEN = 'Let us leave that open.';
export const NO_OPERATOR = 'I am only an automated assistant and cannot put you through.';
export const I_HEARD = 'I heard';
export const IS_THAT_RIGHT = 'Is that right?';
export const YES_OR_NO = 'Please say yes or no.';
export const YES_OR_NO_BY_KEY = 'Please say yes or no, or press 1 for yes or 2 for no.';
export const SAY_DIGITS = 'Please say or enter the digits.';
export const TYPE_OR_SAY_DIGITS = 'Please type it, or say the digits.';
export const TYPE_OR_SAY_DIGIT_BY_DIGIT = 'Please type it, or say it digit by digit.';
export const SAY_DIGIT_BY_DIGIT = 'Please say it digit by digit, or enter it on your keypad and press the pound key.';
export const KEY_DIGITS = 'Please enter it on your keypad and press the pound key.';
export const LET_US_TRY_AGAIN = 'Sorry, let us try again.';

/** All fixed sentences; their audio is cached permanently. */
export const FIXED_PHRASES: ReadonlySet<string> = new Set([
  INTRODUCTION,
  GREETING_WITHOUT_DISCLOSURE,
  ...REPLIES,
  GOODBYE,
  ARE_YOU_THERE,
  TWENTY_SECONDS_LEFT,
  FEW_SECONDS_LEFT,
  SILENT_GOODBYE,
  SORRY,
  LINE_BROKE,
  BRIDGE,
  THANKS,
  ALL_ANSWERED,
  NOT_UNDERSTOOD,
  CANNOT_LISTEN,
  LEFT_OPEN,
  NO_OPERATOR,
  I_HEARD,
  IS_THAT_RIGHT,
  YES_OR_NO,
  YES_OR_NO_BY_KEY,
  SAY_DIGITS,
  TYPE_OR_SAY_DIGITS,
  TYPE_OR_SAY_DIGIT_BY_DIGIT,
  SAY_DIGIT_BY_DIGIT,
  KEY_DIGITS,
  LET_US_TRY_AGAIN,
]);

/** Sentences that replies start with; their audio is prepared at startup to avoid delays. */
export const FIRST_PHRASES: readonly string[] = [
  INTRODUCTION,
  THANKS,
  I_HEARD,
  NOT_UNDERSTOOD,
  LINE_BROKE,
  BRIDGE,
  ...REPLIES,
];

const MAX_OPENING_CHARACTERS = 300;

/** The first sentence of an instruction, fit for TTS: without control characters, at most 300 characters. */
export function firstSentence(instruction: string): string {
  const plain = instruction
    .replace(/[\p{Cc}\p{Cf}\p{Cs}]+/gu, ' ')
    .replace(/\s+/g, ' ')
    .trim();
  return endOfFirst(plain.slice(0, MAX_OPENING_CHARACTERS)).trim();
}

/** The text up to its first end of a sentence that no lower-case word follows, as in "9 a.m. in Main Street". */
function endOfFirst(text: string): string {
  for (const match of text.matchAll(END)) {
    const sentence = text.slice(0, match.index + match[0].length);
    const rest = text.slice(sentence.length);
    if (endsSentenceBefore(sentence, match[0], rest)) return sentence;
  }
  return text;
}
