import { numberWordOf, type NumberWord } from './number-words.js';
import { digitValue, isGap, plusBefore } from './written-digits.js';

/** A part of a text. */
export interface Range {
  start: number;
  end: number;
}

/** A digit of a text, written or said. Digits of one word or of one row of figures form a group. */
export interface Digit extends Range {
  value: number;
  group: number;
}

/** Digits that follow each other with at most some punctuation and fillers between them. */
export interface DigitRun {
  digits: Digit[];
  /** Where the plus sign before the first digit is. */
  plusAt?: number;
}

/** A word or a row of figures in any script. A word may be hyphenated where a line can end. */
const TOKEN = /\p{L}[\p{L}\p{M}\u00ad\u200c\u200d]*|\p{Nd}+/uy;
const UNSEEN_IN_WORD = /[\u00ad\u200c\u200d]/g;
/** Between the words of a number such as twenty-one. */
const HYPHEN = /^[\s\p{Pd}]$/u;

/** Finds the runs of digits of a text, in time linear in its length. */
export function findDigitRuns(text: string): DigitRun[] {
  const builder = createRunBuilder();
  let beforeAt = 0;
  let end = 0;
  for (let start = 0; start < text.length; start = Math.max(start + 1, end)) {
    const next = endOfToken(text, start);
    if (next === start) continue;
    const word = withoutHyphens(text.slice(start, next));
    const meaning = isNumeral(word) ? 'figures' : numberWordOf(word);
    if (meaning === undefined) builder.close();
    else {
      const gap = text.slice(end, start);
      const plusAt = plusBefore(text, start, end);
      if (plusAt !== undefined || !isGap(gap) || (gap === ':' && isTime(text.slice(beforeAt, end), word)))
        builder.close();
      if (meaning === 'figures') builder.addFigures(word, start, plusAt);
      else builder.addWord(word, meaning, { range: { start, end: next }, gap });
    }
    beforeAt = start;
    end = next;
  }
  builder.close();
  return builder.runs;
}

/** Returns the end of the word or the row of figures that begins at a position; the position if there is none. */
function endOfToken(text: string, start: number): number {
  let end = start;
  const first = text.charCodeAt(start);
  // Most characters are of ASCII, which needs no search.
  if (isLetter(first)) while (isLetter(text.charCodeAt(end))) end += 1;
  else if (isFigure(first)) while (isFigure(text.charCodeAt(end))) end += 1;
  else if (first < FIRST_BEYOND_ASCII) return start;
  if (end > start && !(text.charCodeAt(end) >= FIRST_BEYOND_ASCII)) return end;
  TOKEN.lastIndex = start;
  return start + (TOKEN.exec(text)?.[0].length ?? 0);
}

const FIRST_BEYOND_ASCII = 128;
const isFigure = (code: number) => code >= 48 && code <= 57;
const isLetter = (code: number) => (code >= 97 && code <= 122) || (code >= 65 && code <= 90);

const isNumeral = (token: string) => isFigure(token.charCodeAt(0)) || NUMERAL.test(token);
const NUMERAL = /^\p{Nd}/u;

const withoutHyphens = (word: string) => (HAS_UNSEEN.test(word) ? word.replace(UNSEEN_IN_WORD, '') : word);
const HAS_UNSEEN = /[\u00ad\u200c\u200d]/;

/** Collects digits into runs. */
function createRunBuilder() {
  const runs: DigitRun[] = [];
  let run: DigitRun = { digits: [] };
  let group = 0;
  /** A word such as `double`, whose digit must follow. */
  let repeat: { times: number; start: number } | undefined;
  /** The position of the word `plus`, if a digit may follow it. */
  let saidPlusAt: number | undefined;
  /** Whether the last word was one such as `forty`, which the next digit can complete. */
  let isTens = false;
  /** Whether the last word was `quatre`, which begins `quatre-vingts`. */
  let isQuatre = false;
  const knownValues = new Map<string, number>();

  function valueOf(figure: string): number {
    const value = knownValues.get(figure) ?? digitValue(figure);
    knownValues.set(figure, value);
    return value;
  }

  function close(): void {
    if (run.digits.length > 0) runs.push(run);
    run = { digits: [] };
    repeat = undefined;
    saidPlusAt = undefined;
    isTens = false;
    isQuatre = false;
  }

  function add(values: readonly number[], rangeOf: (index: number) => Range, plusAt = saidPlusAt): void {
    if (run.digits.length === 0 && plusAt !== undefined) run.plusAt = plusAt;
    group += 1;
    const times = values.length === 1 ? (repeat?.times ?? 1) : 1;
    for (const [index, value] of values.entries()) {
      const { start, end } = rangeOf(index);
      const digit = { value, group, start: index === 0 ? (repeat?.start ?? start) : start, end };
      for (let n = 0; n < times; n++) run.digits.push(digit);
    }
    repeat = undefined;
    saidPlusAt = undefined;
    isTens = false;
  }

  /** Completes the tens before: forty one, soixante-douze. In French, eighty is four twenties. */
  function complete(digits: string, range: Range): boolean {
    const [tens, zero] = run.digits.slice(-2);
    const first = run.digits.at(-1);
    if (isTens && tens !== undefined && zero !== undefined && tens.group === zero.group) {
      const isFrench = digits.length === 2 && digits.startsWith('1') && (tens.value === 6 || tens.value === 8);
      if (!isFrench && (digits.length !== 1 || digits === '0')) return false;
      const values = Array.from(digits, Number);
      if (isFrench) run.digits.splice(-2, 1, { ...tens, value: tens.value + 1 });
      run.digits.splice(-1, 1, { ...zero, value: values.at(-1) ?? 0, end: range.end });
      isTens = isFrench && digits === '10';
      return true;
    }
    if (digits !== '20' || !isQuatre || first === undefined || run.digits.at(-2)?.value === 0) return false;
    const eighty = { ...first, end: range.end };
    run.digits.splice(-1, 1, { ...eighty, value: 8 }, { ...eighty, value: 0 });
    isTens = true;
    return true;
  }

  function addSaid(digits: string, range: Range, p: { gap: string; isTens: boolean }): void {
    if (HYPHEN.test(p.gap) && complete(digits, range)) return;
    add(Array.from(digits, Number), () => range);
    isTens = p.isTens;
  }

  return {
    runs,
    close,

    addFigures(figures: string, start: number, plusAt: number | undefined): void {
      let at = start;
      const ends: number[] = [];
      const values: number[] = [];
      for (const figure of figures) {
        values.push(valueOf(figure));
        at += figure.length;
        ends.push(at);
      }
      const rangeOf = (index: number) => ({ start: ends[index - 1] ?? start, end: ends[index] ?? at });
      add(values, rangeOf, plusAt ?? saidPlusAt);
    },

    addWord(word: string, meaning: NumberWord, { range, gap }: { range: Range; gap: string }): void {
      switch (meaning.kind) {
        case 'digits':
          addSaid(meaning.digits, range, { gap, isTens: meaning.isTens === true });
          break;
        case 'zeros':
          if (run.digits.length > 0) add(Array.from(meaning.digits, Number), () => range);
          break;
        case 'repeat':
          repeat = { times: meaning.times, start: range.start };
          break;
        case 'plus':
          close();
          saidPlusAt = range.start;
          break;
        case 'and':
          break;
        case 'filler':
          isTens = false;
      }
      isQuatre = meaning.kind === 'digits' && meaning.digits === '4' && word.toLowerCase() === 'quatre';
    },
  };
}

/** Whether a colon between figures is that of a time, such as 10:30. */
function isTime(before: string, after: string): boolean {
  return /^\d\d?$/.test(before) && /^[0-5]\d$/.test(after);
}
