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
  const found: DigitRange[] = [];
  if (digits.length < MIN_DIGITS) return found;
  const sums = checkSums(digits);
  for (let from = 0; from + MIN_DIGITS <= digits.length; from++) {
    for (let to = from + MIN_DIGITS; to <= Math.min(digits.length, from + MAX_DIGITS); to++) {
      const sum = checkSumOf(sums, from, to);
      // Only zeros have the sum 0.
      if (sum > 0 && sum % 10 === 0 && isCard(digits, from, to)) join(found, { from, to });
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
  let [even, odd] = [0, 0];
  for (const [index, { value }] of digits.entries()) {
    const doubled = value > 4 ? value * 2 - 9 : value * 2;
    even += index % 2 === 0 ? doubled : value;
    odd += index % 2 === 0 ? value : doubled;
    sums[0].push(even);
    sums[1].push(odd);
  }
  return sums;
}

/** The sum of the digits, a multiple of 10 in a valid number. The second last is doubled, and every second one before it. */
function checkSumOf(sums: CheckSums, from: number, to: number): number {
  const sum = sums[to % 2 === 0 ? 0 : 1];
  return (sum[to] ?? 0) - (sum[from] ?? 0);
}

function isCard(digits: readonly Digit[], from: number, to: number): boolean {
  if (to - from === digits.length) return true;
  return isOfNetwork(digits, from, to) || isGrouped(digits, from, to);
}

/** Whether the length fits the first digits, as the large networks issue them. */
function isOfNetwork(digits: readonly Digit[], from: number, to: number): boolean {
  const [first, second] = [digits[from]?.value ?? 0, digits[from + 1]?.value ?? 0];
  switch (to - from) {
    case 14:
      return first === 3 && (second === 0 || second === 6 || second === 8 || second === 9);
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
