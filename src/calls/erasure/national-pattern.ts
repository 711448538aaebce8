import { plusBefore } from '../../kernel/redaction/written-digits.js';
import type { NationalForms } from '../../platform/numbering/national-forms.js';
import {
  BREAK,
  INTERNATIONAL_PREFIXES,
  occurrencesOf,
  patternOf,
  type NumberPattern,
  type Occurrence,
  type WrittenDigits,
} from './number-pattern.js';

/** No phone number is shorter. */
const MIN_DIGITS = 7;
/** Fewer digits can be a date or an order number. */
const MIN_SURE_DIGITS = 9;
/** Most digits of a phone number with its country code. */
const MAX_DIGITS = 15;
/** Between the parts of a date, a time or an extension. */
const JOINT = /^[\p{Pd}./:][\p{Cf}\p{M}]*$/u;

/**
 * Creates the pattern of a number with or without its country code, for texts of people in its country.
 * @param p.isSure false: also finds digits that may be something else, such as a date
 */
export function createNationalPattern(
  number: string,
  { national, forms }: NationalForms,
  { isSure }: { isSure: boolean },
): NumberPattern {
  const digits = number.slice(1);
  const least = isSure ? MIN_SURE_DIGITS : MIN_DIGITS;
  const wanted = forms.filter(({ length }) => length >= least).toSorted((a, b) => b.length - a.length);
  return patternOf(national.length < least ? [digits] : [digits, national], (written) => {
    const found = occurrencesOf(written, digits);
    const taken = new Set<number>();
    for (const each of found) take(taken, each);
    // The longest first, so that nothing is left of a trunk prefix.
    for (const form of wanted) {
      for (const each of wholeOccurrencesOf(written, form)) {
        if (isTaken(taken, each) || isAbroad(written, each) || (isSure && isDoubtful(written, each))) continue;
        take(taken, each);
        found.push(each);
      }
    }
    return found.toSorted((a, b) => a.from - b.from);
  });
}

function take(taken: Set<number>, { from, after }: Occurrence): void {
  for (let at = from; at < after; at += 1) taken.add(at);
}

function isTaken(taken: ReadonlySet<number>, { from, after }: Occurrence): boolean {
  for (let at = from; at < after; at += 1) if (taken.has(at)) return true;
  return false;
}

function* wholeOccurrencesOf({ values, areAdjacent }: WrittenDigits, form: string): Generator<Occurrence> {
  for (let from = values.indexOf(form); from !== -1; from = values.indexOf(form, from + 1)) {
    const after = from + form.length;
    if (areAdjacent[from] !== true && areAdjacent[after] !== true) yield { from, after };
  }
}

/** Whether a plus sign is before the digits or the few that precede them: then they have a country code. */
function isAbroad({ text, values, starts, ends }: WrittenDigits, { from, after }: Occurrence): boolean {
  const first = Math.max(0, from - (MAX_DIGITS - (after - from)));
  for (let at = from; at >= first; at -= 1) {
    const isFirst = at === 0 || values[at - 1] === BREAK;
    if (isFirst) return plusBefore(text, starts[at] ?? 0, ends[at - 2] ?? 0) !== undefined;
  }
  return false;
}

/** Whether the digits can be a part of something longer: a date with a time, an extension, or another country's number. */
function isDoubtful(written: WrittenDigits, { from, after }: Occurrence): boolean {
  const { text, values, starts, ends, areAdjacent } = written;
  const isJoint = (at: number) =>
    at > 0 && at < values.length && values[at] !== BREAK && JOINT.test(text.slice(ends[at - 1], starts[at]));
  if ((values[from - 1] !== BREAK && isJoint(from)) || isJoint(after)) return true;
  return INTERNATIONAL_PREFIXES.some((prefix) => {
    const first = Math.max(0, from - (MAX_DIGITS - (after - from)) - prefix.length);
    // At least one digit of a country code is between the two.
    const at = values.slice(first, Math.max(first, from - 1)).lastIndexOf(prefix);
    return at !== -1 && areAdjacent[first + at] !== true && !values.slice(first + at, from).includes(BREAK);
  });
}
