import type { Digit } from './digit-runs.js';

const MIN_DIGITS = 13;
const MAX_DIGITS = 19;
/** A number in the middle of other digits counts only if its groups have this size, or if it looks like one of a network. */
const MIN_GROUP = 2;

/** A part of a run, by the positions of its digits. */
export interface DigitRange {
  from: number;
  to: number;
}

/**
 * Finds payment card numbers: 13 to 19 digits with a valid check digit (Luhn). Overlapping ones are joined, so that no part of
 * one remains. Takes time linear in the number of digits.
 */
export function findCardNumbers(digits: readonly Digit[]): DigitRange[] {
  const sums = checkSums(digits);
  const found: DigitRange[] = [];
  for (let from = 0; from + MIN_DIGITS <= digits.length; from++) {
    for (let to = from + MIN_DIGITS; to <= Math.min(digits.length, from + MAX_DIGITS); to++) {
      if (isValid(sums, from, to) && isCard(digits, from, to)) join(found, { from, to });
    }
  }
  return found;
}

function join(parts: DigitRange[], next: DigitRange): void {
  const last = parts.at(-1);
  if (last !== undefined && next.from < last.to) last.to = Math.max(last.to, next.to);
  else parts.push({ ...next });
}

/** Sums of the digits before each position: those at even positions doubled, and those at odd ones. */
type CheckSums = readonly [doubledEven: readonly number[], doubledOdd: readonly number[]];

function checkSums(digits: readonly Digit[]): CheckSums {
  const sums: [number[], number[]] = [[0], [0]];
  for (const [index, { value }] of digits.entries()) {
    const doubled = value > 4 ? value * 2 - 9 : value * 2;
    sums[0].push((sums[0].at(-1) ?? 0) + (index % 2 === 0 ? doubled : value));
    sums[1].push((sums[1].at(-1) ?? 0) + (index % 2 === 0 ? value : doubled));
  }
  return sums;
}

/** Whether the digits have a valid check digit. Their second last digit is doubled, and every second one before it. */
function isValid(sums: CheckSums, from: number, to: number): boolean {
  const sum = sums[to % 2 === 0 ? 0 : 1];
  return ((sum[to] ?? 0) - (sum[from] ?? 0)) % 10 === 0;
}

function isCard(digits: readonly Digit[], from: number, to: number): boolean {
  const part = digits.slice(from, to);
  if (part.every(({ value }) => value === 0)) return false;
  if (part.length === digits.length) return true;
  return isOfNetwork(part) || isGrouped(digits, from, to);
}

/** Whether the length fits the first digits, as the large networks issue them. */
function isOfNetwork(part: readonly Digit[]): boolean {
  const [first = 0, second = 0] = part.map(({ value }) => value);
  switch (part.length) {
    case 14:
      return first === 3 && [0, 6, 8, 9].includes(second);
    case 15:
      return first === 3 && (second === 4 || second === 7);
    case 16:
      return first === 2 || first === 4 || first === 5 || first === 6 || (first === 3 && second === 5);
    case 19:
      return first === 4 || first === 6;
    default:
      return false;
  }
}

/** Whether the part consists of whole groups without single digits. */
function isGrouped(digits: readonly Digit[], from: number, to: number): boolean {
  const isEdge = (at: number) => digits[at - 1]?.group !== digits[at]?.group;
  if (!isEdge(from) || !isEdge(to)) return false;
  let size = 0;
  for (let at = from; at < to; at++) {
    size += 1;
    if (!isEdge(at + 1)) continue;
    if (size < MIN_GROUP) return false;
    size = 0;
  }
  return true;
}
