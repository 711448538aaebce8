/** Digits as words, in English, German, Spanish and French. Words that mean different digits are not in it. */
const DIGITS: Readonly<Record<string, string>> = wordsOf({
  '0': 'zero oh o nought null cero zéro',
  '1': 'one eins uno un',
  '2': 'two zwei zwo dos deux',
  '3': 'three drei tres trois',
  '4': 'four vier cuatro quatre',
  '5': 'five fünf cinco cinq',
  '6': 'six sechs seis',
  '7': 'seven sieben siete sept',
  '8': 'eight acht ocho huit',
  '9': 'nine neun nueve neuf',
});

/** Pairs of digits in one word. A Spanish eleven is spelled like an English word, which does no harm between other digits. */
const TEENS: Readonly<Record<string, string>> = wordsOf({
  '10': 'ten zehn diez',
  '11': 'eleven elf once onze',
  '12': 'twelve zwölf doce douze',
  '13': 'thirteen dreizehn trece treize',
  '14': 'fourteen vierzehn catorce quatorze',
  '15': 'fifteen fünfzehn quince quinze',
  '16': 'sixteen sechzehn dieciséis dieciseis seize',
  '17': 'seventeen siebzehn diecisiete',
  '18': 'eighteen achtzehn dieciocho',
  '19': 'nineteen neunzehn diecinueve',
  '21': 'veintiuno veintiún',
  '22': 'veintidós veintidos',
  '23': 'veintitrés veintitres',
  '24': 'veinticuatro',
  '25': 'veinticinco',
  '26': 'veintiséis veintiseis',
  '27': 'veintisiete',
  '28': 'veintiocho',
  '29': 'veintinueve',
});

/** A digit can follow, as in forty-one, cuarenta y uno or dix-sept. */
const TENS: Readonly<Record<string, string>> = wordsOf({
  '10': 'dix',
  '20': 'twenty zwanzig veinte vingt vingts',
  '30': 'thirty dreißig dreissig treinta trente',
  '40': 'forty vierzig cuarenta quarante',
  '50': 'fifty fünfzig cincuenta cinquante',
  '60': 'sixty sechzig sesenta soixante',
  '70': 'seventy siebzig setenta septante',
  '80': 'eighty achtzig ochenta huitante octante',
  '90': 'ninety neunzig noventa nonante',
});
/** In German the digit is before the tens, in the same word: einundvierzig. */
const GERMAN_PAIR = /^(ein|zwei|drei|vier|fünf|sechs|sieben|acht|neun)und(\p{L}+zig|dreißig|dreissig)$/u;
/** Between tens and a digit, in Spanish and French. */
const ANDS: ReadonlySet<string> = new Set(['y', 'et']);

const ZEROS: Readonly<Record<string, string>> = wordsOf({ '00': 'hundred', '000': 'thousand' });
const REPEATS: Readonly<Record<string, string>> = wordsOf({ '2': 'double', '3': 'triple treble' });
/** People say these within a number that they dictate. */
const FILLERS: ReadonlySet<string> = new Set(
  (
    'uh um er erm hm mhm then dash hyphen and ok okay yes yeah yep right so ' +
    'äh ähm und ja genau dann bindestrich eh este sí vale luego guion guión euh oui alors ensuite tiret'
  ).split(' '),
);

/** Words that are written as the words above are. */
const IS_PLAIN = /^[a-z]*$/;
/** Longer words have no meaning here, and normalizing a long row of accents takes long. */
const MAX_LENGTH = 20;

/** The meaning of a word within a number that is said. */
export type NumberWord =
  | { kind: 'digits'; digits: string; isTens?: true }
  /** Zeros that follow the digits before. */
  | { kind: 'zeros'; digits: string }
  /** The next digit is said once for several. */
  | { kind: 'repeat'; times: number }
  | { kind: 'plus' }
  /** The tens before can still be completed. */
  | { kind: 'and' }
  | { kind: 'filler' };

/** The meanings of all words above. A text has many words, so one look-up must find a meaning. */
const MEANINGS: ReadonlyMap<string, NumberWord> = new Map<string, NumberWord>([
  ...Object.entries(ZEROS).map(([word, digits]) => [word, { kind: 'zeros', digits }] as const),
  ...Object.entries(REPEATS).map(([word, times]) => [word, { kind: 'repeat', times: Number(times) }] as const),
  ...Object.entries(TENS).map(([word, digits]) => [word, { kind: 'digits', digits, isTens: true }] as const),
  ...Object.entries({ ...TEENS, ...DIGITS }).map(([word, digits]) => [word, { kind: 'digits', digits }] as const),
  ...Array.from(ANDS, (word) => [word, { kind: 'and' }] as const),
  ...Array.from(FILLERS, (word) => [word, { kind: 'filler' }] as const),
  ['plus', { kind: 'plus' }],
]);

/** @returns undefined for a word that is no part of a number */
export function numberWordOf(word: string): NumberWord | undefined {
  if (word.length > MAX_LENGTH) return undefined;
  const known = MEANINGS.get(word);
  if (known !== undefined || IS_PLAIN.test(word)) return known ?? germanPair(word);
  const key = word.normalize('NFC').toLowerCase();
  return MEANINGS.get(key) ?? germanPair(key);
}

function germanPair(word: string): NumberWord | undefined {
  if (!word.includes('und')) return undefined;
  const [, unit = '', tens = ''] = GERMAN_PAIR.exec(word) ?? [];
  const value = Object.hasOwn(TENS, tens) ? TENS[tens] : undefined;
  if (value === undefined) return undefined;
  return { kind: 'digits', digits: `${value.charAt(0)}${unit === 'ein' ? '1' : DIGITS[unit]}` };
}

function wordsOf(table: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(table).flatMap(([digits, words]) => words.split(' ').map((word) => [word, digits])),
  );
}
