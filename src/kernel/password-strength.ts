/** Why a password is easy to guess: it is a common one, or made of what everybody knows of its owner. */
export type PasswordWeakness = 'common' | 'own';

/** Keys that lie side by side and signs that follow each other; each counts in both directions. */
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

/** Fewer characters than this that do not follow from the two before them are guessed quickly. */
const LEAST_INDEPENDENT = 6;
/** A repeated group this short is guessed quickly, whatever it is. */
const SHORT_GROUP = 5;
/** Shorter pieces of a name or an address are in many passwords by chance. */
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
 * Checks a password against a list of common ones and against its owner's words, each in simple variants: case, digits
 * and punctuation around it, letters replaced by signs, repetition, and runs of neighbouring keys.
 * @param common lower-case passwords
 * @param own e-mail addresses and names; their parts count, too
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

/** Whether hardly anything is left of it without the owner's words. */
function isMadeOf(words: readonly string[], text: string, common: ReadonlySet<string>): boolean {
  const plain = squeezed(text);
  const rest = words.reduce((left, word) => left.replaceAll(word, ' '), plain);
  if (rest === plain) return false;
  const letters = squeezed(rest).replace(/\d/g, '');
  return letters.length < LEAST_OTHER_LETTERS || common.has(letters);
}

/** The longest first, so that a whole address is taken out before its parts. */
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
 * With the letters that digits and signs stand for, as in `p4ssw0rd`.
 * @param one what those stand for that may be either
 */
export function respelled(text: string, one: 'l' | 'i'): string {
  return text.replace(/[0134579@$!]/g, (sign) => LETTERS_OF_SIGNS[sign] ?? one);
}

/** Without blanks and punctuation. */
function squeezed(text: string): string {
  return text.replace(/[\s\p{P}\p{S}]/gu, '');
}

/** From its first letter to its last. */
function trimmed(text: string): string {
  const characters = Array.from(text);
  const isLetter = (character: string) => /\p{L}/u.test(character);
  return characters.slice(characters.findIndex(isLetter), characters.findLastIndex(isLetter) + 1).join('');
}

/** The shortest group that the text repeats, cut off at its end perhaps; the text itself when it repeats none. */
function repeatedGroup(text: string): string {
  // The borders of Knuth, Morris and Pratt: how long a beginning of the text each of its beginnings ends with.
  const borders: number[] = [0];
  for (let i = 1, length = 0; i < text.length; i++) {
    while (length > 0 && text[i] !== text[length]) length = borders[length - 1] ?? 0;
    if (text[i] === text[length]) length++;
    borders.push(length);
  }
  const period = text.length - (borders.at(-1) ?? 0);
  return period * 2 <= text.length ? text.slice(0, period) : text;
}

/** Characters that do not follow from the two before them, as in a run or a repetition. */
function independentCharacters(characters: readonly string[]): number {
  const followed = steps(characters).filter((step) => {
    const [first, second, third] = Array.from(step);
    return RUN_STEPS.has(step) || (first === second && second === third);
  });
  return characters.length - followed.length;
}

/** Every three characters in a row. */
function steps(characters: readonly string[]): string[] {
  return characters.slice(2).map((third, i) => `${characters[i]}${characters[i + 1]}${third}`);
}
