import { numberWordOf } from './number-words.js';
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

/** Words and rows of figures, each in any script. A word may be hyphenated where a line can end. */
const TOKEN = /\p{L}[\p{L}\p{M}\u00ad\u200c\u200d]*|\p{Nd}+/gu;
const UNSEEN_IN_WORD = /[\u00ad\u200c\u200d]/g;
/** Between the words of a number such as twenty-one. */
const HYPHEN = /^[\s\p{Pd}]$/u;

/** Finds the runs of digits of a text, in time linear in its length. */
export function findDigitRuns(text: string): DigitRun[] {
  const builder = createRunBuilder();
  let end = 0;
  let before = '';
  for (const token of text.matchAll(TOKEN)) {
    const [word] = token;
    const { index: start } = token;
    const gap = text.slice(end, start);
    const plusAt = plusBefore(text, start, end);
    if (plusAt !== undefined || !isGap(gap) || isTime(before, gap, word)) builder.close();
    end = start + word.length;
    if (isNumeral(word)) builder.addFigures(word, start, plusAt);
    else builder.addWord(word.replace(UNSEEN_IN_WORD, ''), { start, end }, gap);
    before = word;
  }
  builder.close();
  return builder.runs;
}

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
      const ranges: Range[] = [];
      const values: number[] = [];
      for (const figure of figures) {
        ranges.push({ start: at, end: at + figure.length });
        values.push(digitValue(figure));
        at += figure.length;
      }
      add(values, (index) => ranges[index] ?? { start, end: at }, plusAt ?? saidPlusAt);
    },

    addWord(word: string, range: Range, gap: string): void {
      const meaning = numberWordOf(word);
      if (meaning === undefined) return close();
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
      isQuatre = word.toLowerCase() === 'quatre';
    },
  };
}

/** Whether a colon is that of a time, such as 10:30. */
function isTime(before: string, gap: string, after: string): boolean {
  return gap === ':' && /^\d\d?$/.test(before) && /^[0-5]\d$/.test(after);
}

const isNumeral = (token: string) => /^\p{Nd}/u.test(token);
