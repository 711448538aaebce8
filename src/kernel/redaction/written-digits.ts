/** Characters without a shape, such as soft hyphens, and marks, such as those that make a digit a keycap. */
const UNSEEN = /[\p{Cf}\p{M}]/u;
const ALL_UNSEEN = /[\p{Cf}\p{M}]+/gu;
/** Characters that may be between two digits of a number. */
const GAP = /^[\s().,/\\[\]*_:;|~\u00b7\u2022\u2212\p{Pd}]*$/u;
const MAX_GAP = 12;
const BRACKET = /\(/;
const SPACE = /\s/;
const BEFORE_LENGTH = 16;

/** Follows a decoded escape, so that texts keep their length. It is unseen between digits. */
const FILLER = '\u200b';
const JSON_ESCAPE = /(?<!\\)\\{1,8}(?:u([\da-f]{4})|[nrtfb/])/gi;
const URL_ESCAPE = /%(?:[0-7][\da-f]|[c-f][\da-f](?:%[89ab][\da-f]){1,3})/gi;
/** A plus sign in place of a space, as forms encode it. After a whole number it begins the next one. */
const PLUS_AS_SPACE = /(?<=\d)(?<!\d{7})\+(?=\d)/g;
/** The trunk prefix in brackets after a country code, which is not dialed: `+44 (0)20`. */
const TRUNK_PREFIX = /(?<=(?:\+|\b00)[\s(\u200b]{0,4}\d{1,3}\)?[\s.\u200b-]{0,4})\(0\)/g;

/** Other forms of the at sign and of the dot of an e-mail address. */
const AT_SIGN = /[\uff20\ufe6b]|(?<=[\p{L}\p{N}])[([{](?:at|ät)[)\]}](?=[\p{L}\p{N}])/giu;
const DOT_SIGN = /(?<=[\p{L}\p{N}])[([{](?:dot|punkt)[)\]}](?=[\p{L}\p{N}])/giu;

/** Replaces other forms of the signs of e-mail addresses. Every character that is left keeps its position. */
export function withPlainSigns(text: string): string {
  return text.replace(AT_SIGN, (all) => filled(all, '@')).replace(DOT_SIGN, (all) => filled(all, '.'));
}

/**
 * Replaces escapes of JSON and URLs by what they mean, for a search of numbers. Every character that is left keeps its position. Takes
 * time linear in the text.
 */
export function withoutEscapes(text: string): string {
  let plain = text;
  if (text.includes('\\'))
    plain = plain.replace(JSON_ESCAPE, (all, code?: string) => filled(all, unescaped(all, code)));
  if (text.includes('%')) plain = plain.replace(URL_ESCAPE, (all) => filled(all, decoded(all)));
  if (plain.includes('+')) plain = plain.replace(PLUS_AS_SPACE, ' ');
  return plain.includes('(0)') ? plain.replace(TRUNK_PREFIX, (all) => filled(all, '')) : plain;
}

function unescaped(escape: string, code: string | undefined): string {
  if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16));
  return escape.endsWith('/') ? '/' : '\n';
}

function decoded(escape: string): string {
  try {
    return decodeURIComponent(escape);
  } catch {
    return escape;
  }
}

/** Returns a character with the length of its escape. */
function filled(escape: string, character: string): string {
  return character + FILLER.repeat(escape.length - character.length);
}

/** Whether digits with this text between them can belong to one number. */
export function isGap(text: string): boolean {
  if (text === ' ' || text === '') return true;
  const seen = text.replace(ALL_UNSEEN, '');
  return seen.length <= MAX_GAP && GAP.test(seen.normalize('NFKC'));
}

/** Whether a text has no visible character. */
export const isUnseen = (text: string): boolean => text.replace(ALL_UNSEEN, '') === '';

/** Returns the end of a number with the unseen characters that follow its last digit. */
export function withUnseen(text: string, end: number): number {
  let at = end;
  while (at < text.length && UNSEEN.test(text.charAt(at))) at += 1;
  return at;
}

/**
 * Returns where the plus sign is if the text before a position, from another one on, ends with one. Between them may be unseen
 * characters, a space and an opening bracket.
 */
export function plusBefore(text: string, at: number, from: number): number | undefined {
  const first = Math.max(from, at - BEFORE_LENGTH);
  let position = at;
  const skip = (pattern: RegExp, most: number) => {
    for (let n = 0; n < most && position > first && pattern.test(text.charAt(position - 1)); n += 1) position -= 1;
  };
  skip(UNSEEN, BEFORE_LENGTH);
  skip(BRACKET, 1);
  skip(UNSEEN, BEFORE_LENGTH);
  skip(SPACE, 1);
  skip(UNSEEN, BEFORE_LENGTH);
  return position > first && text.charAt(position - 1) === '+' ? position - 1 : undefined;
}

/**
 * The value of a decimal digit of any script. Unicode has the ten digits of a script in order; those that follow other digits
 * directly are variants of the Latin ones.
 */
export function digitValue(digit: string): number {
  const figure = /^\d$/.test(digit) ? digit : digit.normalize('NFKC');
  if (figure >= '0' && figure <= '9') return Number(figure);
  const codePoint = figure.codePointAt(0) ?? 0;
  let below = 0;
  while (below < 9 && /^\p{Nd}/u.test(String.fromCodePoint(codePoint - below - 1))) below += 1;
  return below;
}
