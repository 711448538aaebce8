import type { Range } from './digit-runs.js';

/** An international bank account number, in groups of four or without spaces. */
const IBAN = /\b[A-Z]{2}\d{2}(?: ?[A-Z\d]{4}){2,7}(?: ?[A-Z\d]{1,3})?\b/g;

/** Finds international bank account numbers with valid check digits. They are no phone numbers, although their digits can look so. */
export function findBankAccounts(text: string): Range[] {
  return Array.from(text.matchAll(IBAN), ({ 0: found, index }) => ({ found, index }))
    .filter(({ found }) => isValid(found.replaceAll(' ', '')))
    .map(({ found, index }) => ({ start: index, end: index + found.length }));
}

/** Whether the number has the remainder 1, read as digits with its first four characters at the end. */
function isValid(iban: string): boolean {
  let rest = 0;
  for (const character of iban.slice(4) + iban.slice(0, 4)) {
    const value = Number.parseInt(character, 36);
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97;
  }
  return rest === 1;
}
