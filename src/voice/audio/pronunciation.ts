/** Spelling to ARPAbet phones, longest spellings first. The sticky patterns match at the current letter only. */
const SPELLINGS: readonly (readonly [pattern: RegExp, sounds: string])[] = [
  [/tion/y, 'SH AH N'],
  [/sion/y, 'ZH AH N'],
  [/eigh/y, 'EY'],
  [/ough/y, 'AO'],
  [/augh/y, 'AO'],
  [/igh/y, 'AY'],
  [/tch/y, 'CH'],
  [/dge/y, 'JH'],
  [/sch/y, 'S K'],
  [/ch/y, 'CH'],
  [/sh/y, 'SH'],
  [/ph/y, 'F'],
  [/th/y, 'TH'],
  [/wh/y, 'W'],
  [/ck/y, 'K'],
  [/ng$/y, 'NG'],
  [/qu/y, 'K W'],
  [/(?<![a-z])kn/y, 'N'],
  [/(?<![a-z])wr/y, 'R'],
  [/ee|ea|ie/y, 'IY'],
  [/oo|ue|ew/y, 'UW'],
  [/ou/y, 'AW'],
  [/oi|oy/y, 'OY'],
  [/ai|ay|ei|ey/y, 'EY'],
  [/au|aw/y, 'AO'],
  [/oa|ow/y, 'OW'],
  [/[eiu]r/y, 'ER'],
  [/ar/y, 'AA R'],
  [/or/y, 'AO R'],
  [/(?<=[a-z])le$/y, 'AH L'],
  // A vowel, one consonant and a silent e: pronounce the vowel as its letter name.
  [/a(?=[bcdfgklmnpstvz]e)/y, 'EY'],
  [/i(?=[bcdfgklmnpstvz]e)/y, 'AY'],
  [/o(?=[bcdfgklmnpstvz]e)/y, 'OW'],
  [/u(?=[bcdfgklmnpstvz]e)/y, 'UW'],
  [/(?<=[a-z][bcdfgklmnpstvz])e$/y, ''],
  [/([bdfgklmnprstz])\1/y, ''],
  [/c(?=[eiy])/y, 'S'],
  [/g(?=[eiy])/y, 'JH'],
  [/(?<![a-z])y/y, 'Y'],
  [/y/y, 'IY'],
  [/o$/y, 'OW'],
  [/i$/y, 'IY'],
  [/a$/y, 'AH'],
];

const LETTER_SOUNDS: Readonly<Record<string, string>> = {
  a: 'AE',
  b: 'B',
  c: 'K',
  d: 'D',
  e: 'EH',
  f: 'F',
  g: 'G',
  h: 'HH',
  i: 'IH',
  j: 'JH',
  k: 'K',
  l: 'L',
  m: 'M',
  n: 'N',
  o: 'AA',
  p: 'P',
  q: 'K',
  r: 'R',
  s: 'S',
  t: 'T',
  u: 'AH',
  v: 'V',
  w: 'W',
  x: 'K S',
  z: 'Z',
};

const LETTER_NAMES: Readonly<Record<string, string>> = {
  b: 'B IY',
  c: 'S IY',
  d: 'D IY',
  f: 'EH F',
  g: 'JH IY',
  h: 'EY CH',
  j: 'JH EY',
  k: 'K EY',
  l: 'EH L',
  m: 'EH M',
  n: 'EH N',
  p: 'P IY',
  q: 'K Y UW',
  r: 'AA R',
  s: 'EH S',
  t: 'T IY',
  v: 'V IY',
  w: 'D AH B AH L Y UW',
  x: 'EH K S',
  z: 'Z IY',
};

/**
 * Guesses the US English pronunciation of a word that is not in the dictionary: from its spelling, or letter by letter
 * if it has no vowel. The guess is good enough to tell the word from other choices, but not to read it aloud.
 * @param word letters a to z and apostrophes, lower case
 * @returns ARPAbet phones, separated by spaces; at least one
 */
export function pronounce(word: string): string {
  const letters = word.replace(/[^a-z]/g, '');
  if (!/[aeiouy]/.test(letters)) return Array.from(letters, (letter) => LETTER_NAMES[letter] ?? '').join(' ');
  const sounds: string[] = [];
  for (let at = 0; at < letters.length;) {
    const known = SPELLINGS.find(([pattern]) => {
      pattern.lastIndex = at;
      return pattern.test(letters);
    });
    if (known === undefined) {
      sounds.push(LETTER_SOUNDS[letters.charAt(at)] ?? '');
      at += 1;
      continue;
    }
    const [pattern, sound] = known;
    const length = pattern.lastIndex - at;
    // For a doubled consonant, drop the first letter and pronounce the second.
    const isDoubled = length === 2 && letters[at] === letters[at + 1] && sound === '';
    sounds.push(sound);
    at += isDoubled ? 1 : length;
  }
  return sounds.filter((sound) => sound !== '').join(' ');
}
