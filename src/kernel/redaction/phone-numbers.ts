import type { DigitRange } from './card-numbers.js';
import type { Digit } from './digit-runs.js';

const MIN_DIGITS = 7;
const MAX_DIGITS = 15;

/** Whether digits, with a plus sign for an international number, are a phone number. Takes about 25 microseconds for each region. */
export type IsPhoneNumber = (digits: string) => boolean;

/** The number of times that one text may ask whether digits are a phone number. */
export interface Budget {
  left: number;
}

/**
 * Finds phone numbers that consist of whole groups of a run, longer ones first. When the budget is used up, all further digits that
 * can be a number count as one.
 * @param p.hasPlus whether a plus sign is before the first digit
 */
export function findPhoneNumbers(
  digits: readonly Digit[],
  p: { hasPlus: boolean; isPhoneNumber: IsPhoneNumber; budget: Budget },
): DigitRange[] {
  const { budget } = p;
  const text = digits.map(({ value }) => value).join('');
  const isEdge = (at: number) => digits[at - 1]?.group !== digits[at]?.group;

  function isNumber(from: number, to: number): boolean {
    budget.left -= 1;
    const part = text.slice(from, to);
    if (from === 0 && p.hasPlus) return p.isPhoneNumber(`+${part}`);
    return p.isPhoneNumber(part);
  }

  /** @returns the end of the longest number that begins there */
  function endOfNumber(from: number): number | undefined {
    if (!isEdge(from)) return undefined;
    for (let to = Math.min(digits.length, from + MAX_DIGITS); to >= from + MIN_DIGITS; to--) {
      if (!isEdge(to)) continue;
      if (budget.left <= 0) return digits.length;
      if (isNumber(from, to)) return to;
    }
    return undefined;
  }

  const found: DigitRange[] = [];
  for (let from = 0; from + MIN_DIGITS <= digits.length;) {
    const to = endOfNumber(from);
    if (to !== undefined) found.push({ from, to });
    from = to ?? from + 1;
  }
  return found;
}
