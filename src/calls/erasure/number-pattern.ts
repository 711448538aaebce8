/** Finds one phone number in texts. */
export interface NumberPattern {
  /** Whether a text contains the number, with its country code, however it is grouped. */
  isIn(text: string): boolean;
  /** Whether a text is the number and contains no more. */
  isWhole(text: string): boolean;
  replaceIn(text: string, replacement: string): string;
}

/** Characters between the digits of a number. */
const BETWEEN = String.raw`[\s().\-/]{0,3}`;
/** International prefixes; `%2B` is the plus sign in a URL. */
const PREFIX = String.raw`(?:(?:%2[Bb]|\+|00|011)\s?)?`;

/** Creates the pattern of a number in E.164. A longer number that contains its digits does not match. */
export function createNumberPattern(number: string): NumberPattern {
  const source = `(?<!\\d)${PREFIX}${number.slice(1).split('').join(BETWEEN)}(?!\\d)`;
  const [once, every, whole] = [new RegExp(source), new RegExp(source, 'g'), new RegExp(`^\\s*${source}\\s*$`)];
  return {
    isIn: (text) => once.test(text),
    isWhole: (text) => whole.test(text),
    replaceIn: (text, replacement) => text.replaceAll(every, replacement),
  };
}
