import {
  digitValue,
  isGap,
  isUnseen,
  plusBefore,
  withoutEscapes,
  withUnseen,
} from '../../kernel/redaction/written-digits.js';

/** Finds one phone number in texts. */
export interface NumberPattern {
  /** Whether a text contains the number, with its country code, however it is grouped. */
  isIn(text: string): boolean;
  /** Whether a text is the number and contains no more. */
  isWhole(text: string): boolean;
  /** Whether a number of a JSON text has the digits of the number. */
  isValue(literal: string): boolean;
  replaceIn(text: string, replacement: string): string;
  /** Replaces the number in texts that belong together. If it is divided between some, each part is replaced. */
  replaceInParts(texts: readonly string[], replacement: string): string[];
}

/** International prefixes. A gap may follow. */
export const INTERNATIONAL_PREFIXES = ['011', '00'];
const ROW = /\p{Nd}+/gu;
/** Between digits that cannot belong to one number. */
export const BREAK = ' ';

/** Creates the pattern of a number in E.164. A longer number that contains its digits does not match. */
export function createNumberPattern(number: string): NumberPattern {
  const digits = number.slice(1);
  return patternOf([digits], (written) => occurrencesOf(written, digits));
}

/**
 * Creates a pattern.
 * @param values the digits that a number of a JSON text can have
 * @param occurrencesIn finds the number, in order and without overlaps, in time linear in the text
 */
export function patternOf(
  values: readonly string[],
  occurrencesIn: (written: WrittenDigits) => readonly Occurrence[],
): NumberPattern {
  function findIn(whole: string): Range[] {
    const text = withoutEscapes(whole);
    const figures = figuresOf(text);
    const found: Range[] = [];
    for (const each of occurrencesIn({ text, ...figures })) {
      found.push(rangeOf(text, figures, { ...each, since: found.at(-1)?.end ?? 0 }));
    }
    return found;
  }
  return {
    isIn: (text) => findIn(text).length > 0,
    isWhole(text) {
      const trimmed = text.trim();
      const [found] = findIn(trimmed);
      return found?.start === 0 && found.end === trimmed.length;
    },
    isValue: (literal) => values.some((digits) => Math.abs(Number(literal)) === Number(digits)),
    replaceIn: (text, replacement) => replaceRanges(text, findIn(text), replacement),
    replaceInParts(texts, replacement) {
      const found = findIn(texts.join('\n'));
      let [next, start] = [0, 0];
      return texts.map((text) => {
        const own: Range[] = [];
        while ((found[next]?.end ?? Infinity) <= start) next += 1;
        for (const each of rangesBefore(found, next, start + text.length)) {
          own.push({ start: Math.max(0, each.start - start), end: Math.min(text.length, each.end - start) });
        }
        start += text.length + 1;
        return replaceRanges(text, own, replacement);
      });
    },
  };
}

/** Yields the ranges from a position of the list on that begin before `end`. */
function* rangesBefore(ranges: readonly Range[], from: number, end: number): Generator<Range> {
  for (let at = from; at < ranges.length; at += 1) {
    const range = ranges[at];
    if (range === undefined || range.start >= end) return;
    yield range;
  }
}

function replaceRanges(text: string, ranges: readonly Range[], replacement: string): string {
  const parts: string[] = [];
  let rest = 0;
  for (const { start, end } of ranges) {
    parts.push(text.slice(rest, start), replacement);
    rest = end;
  }
  return [...parts, text.slice(rest)].join('');
}

interface Range {
  start: number;
  end: number;
}

/** The digits of a text, with `BREAK` between those that cannot belong to one number. */
interface Figures {
  values: string;
  starts: number[];
  ends: number[];
  /** Whether a digit directly follows the one before. */
  areAdjacent: boolean[];
}

/** A text without escapes, and its digits. */
export interface WrittenDigits extends Figures {
  text: string;
}

/** The positions of a number's digits among those of a text; `after` is the first one behind it. */
export interface Occurrence {
  from: number;
  after: number;
}

/** Finds all occurrences of a number with its country code, in time linear in the text. */
export function occurrencesOf(written: WrittenDigits, digits: string): Occurrence[] {
  const { values, areAdjacent } = written;
  const found: Occurrence[] = [];
  for (let at = values.indexOf(digits); at !== -1;) {
    const after = at + digits.length;
    const from = areAdjacent[after] === true ? undefined : firstOf(written, at);
    if (from !== undefined) found.push({ from, after });
    at = values.indexOf(digits, from === undefined ? at + 1 : after);
  }
  return found;
}

function figuresOf(text: string): Figures {
  const values: string[] = [];
  const figures = { starts: [] as number[], ends: [] as number[], areAdjacent: [] as boolean[] };
  function add(value: string, start: number, end: number, isAdjacent: boolean): void {
    values.push(value);
    figures.starts.push(start);
    figures.ends.push(end);
    figures.areAdjacent.push(isAdjacent);
  }
  let last = 0;
  for (const { 0: row, index } of text.matchAll(ROW)) {
    const gap = text.slice(last, index);
    if (!isGap(gap)) add(BREAK, index, index, false);
    let at = index;
    for (const digit of row) {
      add(String(digitValue(digit)), at, at + digit.length, at > index || (values.length > 0 && isUnseen(gap)));
      at += digit.length;
    }
    last = at;
  }
  return { values: values.join(''), ...figures };
}

/** Returns the first digit of a number with its international prefix; undefined if the digits are a part of others. */
function firstOf({ values, areAdjacent }: Figures, at: number): number | undefined {
  for (const prefix of INTERNATIONAL_PREFIXES) {
    const from = at - prefix.length;
    if (from >= 0 && values.startsWith(prefix, from) && areAdjacent[from] !== true) return from;
  }
  return areAdjacent[at] === true ? undefined : at;
}

/** The part of a text with the digits of a number, its plus sign, and the bracket around its country code. */
function rangeOf(text: string, { starts, ends }: Figures, p: { from: number; after: number; since: number }): Range {
  const first = starts[p.from] ?? 0;
  const end = withUnseen(text, ends[p.after - 1] ?? first);
  const start = plusBefore(text, first, p.since) ?? first;
  const within = text.slice(start, end);
  const isBracket = start > p.since && text[start - 1] === '(' && within.lastIndexOf('(') < within.indexOf(')');
  return { start: isBracket ? start - 1 : start, end };
}
