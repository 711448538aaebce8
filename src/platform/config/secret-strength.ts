import { respelled } from '../../kernel/password-strength.js';

/** Words that people use in place of a secret, as letters only. */
const GUESSED = [
  'changeme',
  'replaceme',
  'placeholder',
  'password',
  'passwort',
  'passphrase',
  'secret',
  'letmein',
  'qwerty',
  'example',
  'insecure',
  'development',
  'callwright',
];
/** Minimum number of distinct characters. Only one in ten million texts of 32 random hexadecimal digits has fewer. */
const FEWEST_CHARACTERS = 8;
/** Minimum number of distinct bytes in a 32-byte key. Random keys have far more. */
const FEWEST_BYTES = 16;

/** Whether a text contains a word like `changeme` or `password`, in any spelling. */
export function holdsGuessedWord(text: string): boolean {
  const lower = text.normalize('NFKD').toLowerCase();
  const spellings = (['l', 'i'] as const).map((one) => respelled(lower, one).replace(/[^a-z]/g, ''));
  return lower.includes('123456') || GUESSED.some((word) => spellings.some((letters) => letters.includes(word)));
}

/**
 * Returns a sentence that says why a secret is easy to guess, without quoting it; undefined if no weakness is found.
 */
export function weaknessOf(text: string, minLength: number): string | undefined {
  if (text.length < minLength) return `has fewer than ${minLength} characters`;
  if (holdsGuessedWord(text)) return 'contains a word that is easy to guess, such as a placeholder or “password”';
  const codes = Array.from(text, (character) => character.codePointAt(0) ?? 0);
  return new Set(codes).size < FEWEST_CHARACTERS || isPattern(codes)
    ? 'repeats a few characters or follows a pattern'
    : undefined;
}

/** Whether a 32-byte key has a pattern, so that it is not random. */
export function isWeakKey(key: Buffer): boolean {
  const bytes = [...key];
  return new Set(bytes).size < FEWEST_BYTES || isPattern(bytes) || bytes.every((byte) => byte >= 32 && byte < 127);
}

/** Whether a sequence repeats a part, or mostly counts up or down. */
function isPattern(codes: readonly number[]): boolean {
  for (let period = 1; period <= codes.length / 2; period += 1) {
    if (codes.every((code, index) => index < period || code === codes[index - period])) return true;
  }
  const small = codes.filter((code, index) => index > 0 && Math.abs(code - (codes[index - 1] ?? code)) <= 1);
  return small.length >= (codes.length * 3) / 4;
}
