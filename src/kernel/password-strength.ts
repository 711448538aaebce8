/**
 * Why a password is easy to guess. `common`: many people use it. `own`: it consists of public facts about its owner.
 */
export type PasswordWeakness = 'common' | 'own';

/** Rows of neighboring keys and consecutive characters. A password may contain a part of a row, in either direction. */
const RUNS = [
  'abcdefghijklmnopqrstuvwxyz',
  '01234567890',
  '!@#$%^&*()',
  'qwertyuiop',
  'asdfghjkl',
  'zxcvbnm',
  'qwertzuiop',
  'yxcvbnm',
  'azertyuiop',
  'qsdfghjklm',
  'wxcvbn',
  'йцукенгшщзхъ',
  'фывапролджэ',
  'ячсмитьбю',
  '1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik,9ol.0p;/',
  'qazwsxedcrfvtgbyhnujmikolp',
];
const RUN_STEPS = new Set(RUNS.flatMap((run) => [...steps(Array.from(run)), ...steps(Array.from(run).toReversed())]));

/**
 * Minimum number of characters that do not continue a row or a repetition. Passwords with fewer are guessed quickly.
 */
const LEAST_INDEPENDENT = 6;
/** A repeated group of at most this many characters is guessed quickly, whatever the characters are. */
const SHORT_GROUP = 5;
/** Minimum length of a part of a name or email address. Shorter parts occur in many passwords by chance. */
const LEAST_OWN_WORD = 3;
const LEAST_OTHER_LETTERS = 4;

const LETTERS_OF_SIGNS: Readonly<Record<string, string>> = {
  '0': 'o',
  '3': 'e',
  '4': 'a',
  '5': 's',
  '7': 't',
  '@': 'a',
  $: 's',
};

/**
 * Checks a password against common passwords and against its owner's names, also in simple variants: upper and lower
 * case, digits and punctuation around it, letters replaced by signs, repetition, and rows of neighboring keys.
 * @param common lower-case passwords
 * @param own email addresses and names; their parts count, too
 * @returns undefined when the password is not weak
 */
export function passwordWeakness(
  password: string,
  { common, own }: { common: ReadonlySet<string>; own: readonly string[] },
): PasswordWeakness | undefined {
  const text = password.normalize('NFKC').toLowerCase();
  if (isMadeOf(wordsOf(own), text, common)) return 'own';
  return isCommon(text, common) ? 'common' : undefined;
}

function isCommon(text: string, common: ReadonlySet<string>): boolean {
  if (independentCharacters(Array.from(text)) < LEAST_INDEPENDENT) return true;
  return variantsOf(text).some((variant) => {
    const group = repeatedGroup(variant);
    if (group !== variant && group.length <= SHORT_GROUP) return true;
    return common.has(variant) || common.has(group) || common.has(trimmed(group));
  });
}

/** Whether almost nothing remains when the owner's words are removed. */
function isMadeOf(words: readonly string[], text: string, common: ReadonlySet<string>): boolean {
  const plain = squeezed(text);
  const rest = words.reduce((left, word) => left.replaceAll(word, ' '), plain);
  if (rest === plain) return false;
  const letters = squeezed(rest).replace(/\d/g, '');
  return letters.length < LEAST_OTHER_LETTERS || common.has(letters);
}

/** Returns the words of the owner, longest first, so that a whole email address is removed before its parts. */
function wordsOf(own: readonly string[]): string[] {
  const words = own.flatMap((phrase) => {
    const lower = phrase.normalize('NFKC').toLowerCase();
    return [lower, ...lower.split('@'), ...lower.split(/[\s\p{P}\p{S}]/u)].map(squeezed);
  });
  const long = words.filter((word) => word.length >= LEAST_OWN_WORD);
  return [...new Set(long)].toSorted((a, b) => b.length - a.length);
}

function variantsOf(text: string): string[] {
  const spelled = [text, trimmed(text)].flatMap((form) => [form, respelled(form, 'l'), respelled(form, 'i')]);
  return [...new Set(spelled.flatMap((form) => [form, squeezed(form), trimmed(squeezed(form))]))];
}

/**
 * Replaces digits and signs by the letters that they resemble, as in `p4ssw0rd`.
 * @param one the letter for signs that resemble both `l` and `i`
 */
export function respelled(text: string, one: 'l' | 'i'): string {
  return text.replace(/[0134579@$!]/g, (sign) => LETTERS_OF_SIGNS[sign] ?? one);
}

/** Removes spaces, punctuation and symbols. */
function squeezed(text: string): string {
  return text.replace(/[\s\p{P}\p{S}]/gu, '');
}

/** Removes everything before the first and after the last letter. */
function trimmed(text: string): string {
  const characters = Array.from(text);
  const isLetter = (character: string) => /\p{L}/u.test(character);
  return characters.slice(characters.findIndex(isLetter), characters.findLastIndex(isLetter) + 1).join('');
}

/**
 * Returns the shortest group that repeats to form the text (the last repetition may be incomplete), or the text itself.
 */
function repeatedGroup(text: string): string {
  // Knuth-Morris-Pratt: for each prefix, the length of its longest proper prefix that is also its suffix.
  const borders: number[] = [0];
  for (let i = 1, length = 0; i < text.length; i++) {
    while (length > 0 && text[i] !== text[length]) length = borders[length - 1] ?? 0;
    if (text[i] === text[length]) length++;
    borders.push(length);
  }
  const period = text.length - (borders.at(-1) ?? 0);
  return period * 2 <= text.length ? text.slice(0, period) : text;
}

/** Counts the characters that do not continue a row or a repetition of the two characters before them. */
function independentCharacters(characters: readonly string[]): number {
  const followed = steps(characters).filter((step) => {
    const [first, second, third] = Array.from(step);
    return RUN_STEPS.has(step) || (first === second && second === third);
  });
  return characters.length - followed.length;
}

/** Returns all groups of three consecutive characters. */
function steps(characters: readonly string[]): string[] {
  return characters.slice(2).map((third, i) => `${characters[i]}${characters[i + 1]}${third}`);
}
