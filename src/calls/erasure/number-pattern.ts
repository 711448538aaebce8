/** Finds one phone number in texts. */
export interface NumberPattern {
  /** Whether a text contains the number, with its country code, however it is grouped. */
  isIn(text: string): boolean;
  /** Whether a text is the number and contains no more. */
  isWhole(text: string): boolean;
  replaceIn(text: string, replacement: string): string;
}

/** Characters between the digits of a number, and how many may follow each other. */
const BETWEEN = /^[\s().\-/]$/;
const MOST_BETWEEN = 3;
/** International prefixes; `%2B` is the plus sign in a URL. A space may follow. */
const PREFIXES = ['%2B', '%2b', '+', '011', '00'];

const isDigit = (character = '') => /^\d$/.test(character);

/** Creates the pattern of a number in E.164. A longer number that contains its digits does not match. */
export function createNumberPattern(number: string): NumberPattern {
  const digits = number.slice(1);
  return {
    isIn: (text) => findFrom(text, digits, 0) !== undefined,
    isWhole(text) {
      const trimmed = text.trim();
      const found = findFrom(trimmed, digits, 0);
      return found?.start === 0 && found.end === trimmed.length;
    },
    replaceIn(text, replacement) {
      const parts: string[] = [];
      let rest = 0;
      for (let found = findFrom(text, digits, 0); found; found = findFrom(text, digits, found.end)) {
        parts.push(text.slice(rest, found.start), replacement);
        rest = found.end;
      }
      return [...parts, text.slice(rest)].join('');
    },
  };
}

interface Range {
  start: number;
  end: number;
}

/** Finds the first occurrence of the number from a position on, in time linear in the text. */
function findFrom(text: string, digits: string, from: number): Range | undefined {
  const first = digits.charAt(0);
  for (let at = text.indexOf(first, from); at !== -1; at = text.indexOf(first, at + 1)) {
    const start = startOf(text, at, from);
    const end = start === undefined ? undefined : endOf(text, at, digits);
    if (start !== undefined && end !== undefined) return { start, end };
  }
  return undefined;
}

/** Returns where a number begins whose digits begin at a position; undefined if these digits are a part of others. */
function startOf(text: string, at: number, from: number): number | undefined {
  const isSpaced = /^\s$/.test(text[at - 1] ?? '');
  for (const prefixEnd of isSpaced ? [at - 1, at] : [at]) {
    const starts = PREFIXES.map((prefix) => prefixEnd - prefix.length);
    const found = starts.find(
      (start, i) => start >= from && text.startsWith(PREFIXES[i] ?? '', start) && !isDigit(text[start - 1]),
    );
    if (found !== undefined) return found;
  }
  return isDigit(text[at - 1]) ? undefined : at;
}

/** Returns where the digits that begin at a position end; undefined if they are others, or more follow. */
function endOf(text: string, at: number, digits: string): number | undefined {
  let position = at;
  for (const [index, digit] of digits.split('').entries()) {
    const mostBetween = index === 0 ? 0 : MOST_BETWEEN;
    for (let between = 0; between < mostBetween && BETWEEN.test(text[position] ?? ''); between += 1) position += 1;
    if (text[position] !== digit) return undefined;
    position += 1;
  }
  return isDigit(text[position]) ? undefined : position;
}
