import type { RedactedKind } from '../conversation/storage.js';
import { findCardNumbers, type DigitRange } from './card-numbers.js';
import { findDigitRuns, type Digit, type DigitRun, type Range } from './digit-runs.js';
import { findEmailAddresses } from './email-addresses.js';
import { findBankAccounts } from './bank-accounts.js';
import { findPhoneNumbers, type Budget, type IsPhoneNumber } from './phone-numbers.js';
import { withoutEscapes, withUnseen } from './written-digits.js';

const LABELS: Readonly<Record<RedactedKind, string>> = {
  card_numbers: '[card number]',
  phone_numbers: '[phone number]',
  email_addresses: '[email address]',
};

/** Each question whether digits are a phone number takes about 25 microseconds for each region, and audio must not wait for long. */
const MAX_QUESTIONS = 100;

export interface Redaction {
  kinds: readonly RedactedKind[];
  isPhoneNumber: IsPhoneNumber;
}

interface Found extends Range {
  kind: RedactedKind;
}

/**
 * Replaces card numbers, phone numbers and e-mail addresses in texts that were said one after the other by the same speaker, in
 * time linear in their length. A number that continues in the next text is replaced in both.
 */
export function redactTexts(texts: readonly string[], redaction: Redaction): string[] {
  // A line break may be within a number and an address, like any space.
  const found = joined(findAll(withoutEscapes(texts.join('\n')), redaction));
  let start = 0;
  return texts.map((text) => {
    const own = found
      .filter((each) => each.start < start + text.length && each.end > start)
      .map((each) => ({ kind: each.kind, start: each.start - start, end: each.end - start }));
    start += text.length + 1;
    return replaceIn(text, own);
  });
}

function replaceIn(text: string, found: readonly Found[]): string {
  const parts: string[] = [];
  let rest = 0;
  for (const { kind, start, end } of found) {
    parts.push(text.slice(rest, Math.max(rest, start)), LABELS[kind]);
    rest = Math.min(text.length, end);
  }
  return [...parts, text.slice(rest)].join('');
}

function findAll(text: string, { kinds, isPhoneNumber }: Redaction): Found[] {
  const budget: Budget = { left: MAX_QUESTIONS };
  const addresses = kinds.includes('email_addresses') ? findEmailAddresses(text) : [];
  const found: Found[] = addresses.map((range) => ({ ...range, kind: 'email_addresses' }));
  if (!kinds.includes('card_numbers') && !kinds.includes('phone_numbers')) return found;
  const isInAccount = createAccountCheck(text);
  for (const run of findDigitRuns(text)) {
    const cards = kinds.includes('card_numbers') ? findCardNumbers(run.digits) : [];
    found.push(...cards.map((part): Found => ({ ...rangeOf(text, run.digits, part), kind: 'card_numbers' })));
    if (!kinds.includes('phone_numbers')) continue;
    for (const rest of withoutParts(run, cards)) {
      const phones = findPhoneNumbers(rest.digits, { hasPlus: rest.plusAt !== undefined, isPhoneNumber, budget });
      const ranges = phones.map((part) => phoneRange(text, rest, part));
      // A part of the number of an account is no phone number.
      const own = ranges.filter((range) => !isInAccount(range));
      found.push(...own.map((range): Found => ({ ...range, kind: 'phone_numbers' })));
    }
  }
  return found;
}

/** Creates the check whether a range is in the number of a bank account. It must be asked in the order of the ranges. */
function createAccountCheck(text: string): (range: Range) => boolean {
  const accounts = findBankAccounts(text);
  let next = 0;
  return ({ start, end }) => {
    while ((accounts[next]?.end ?? Infinity) <= start) next += 1;
    return (accounts[next]?.start ?? Infinity) < end;
  };
}

/** The digits of a run that are in none of its parts. */
function withoutParts({ digits, plusAt }: DigitRun, parts: readonly DigitRange[]): DigitRun[] {
  if (parts.length === 0) return [plusAt === undefined ? { digits } : { digits, plusAt }];
  const ends = [0, ...parts.map(({ to }) => to)];
  const starts = [...parts.map(({ from }) => from), digits.length];
  return ends.map((from, index) => ({ digits: digits.slice(from, starts[index]) }));
}

function rangeOf(text: string, digits: readonly Digit[], { from, to }: DigitRange): Range {
  return { start: digits[from]?.start ?? 0, end: withUnseen(text, digits[to - 1]?.end ?? 0) };
}

/** The range of a phone number, with its plus sign or opening bracket. */
function phoneRange(text: string, { digits, plusAt }: DigitRun, part: DigitRange): Range {
  const range = rangeOf(text, digits, part);
  if (part.from === 0 && plusAt !== undefined) return { ...range, start: plusAt };
  const isBracket = text[range.start - 1] === '(' && text.slice(range.start, range.end).includes(')');
  return isBracket ? { ...range, start: range.start - 1 } : range;
}

/** Sorts what was found, and joins what overlaps. */
function joined(found: Found[]): Found[] {
  const all: Found[] = [];
  for (const next of found.toSorted((a, b) => a.start - b.start || b.end - a.end)) {
    const last = all.at(-1);
    if (last !== undefined && next.start < last.end) last.end = Math.max(last.end, next.end);
    else all.push({ ...next });
  }
  return all;
}
