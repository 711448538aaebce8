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

/** @returns undefined for a word that is no part of a number */
export function numberWordOf(word: string): NumberWord | undefined {
  if (word.length > MAX_LENGTH) return undefined;
  const key = word.normalize('NFC').toLowerCase();
  if (key === 'plus') return { kind: 'plus' };
  if (FILLERS.has(key)) return { kind: 'filler' };
  if (ANDS.has(key)) return { kind: 'and' };
  const digits = valueIn(DIGITS, key) ?? valueIn(TEENS, key) ?? germanPair(key);
  if (digits !== undefined) return { kind: 'digits', digits };
  const tens = valueIn(TENS, key);
  if (tens !== undefined) return { kind: 'digits', digits: tens, isTens: true };
  const zeros = valueIn(ZEROS, key);
  if (zeros !== undefined) return { kind: 'zeros', digits: zeros };
  const times = valueIn(REPEATS, key);
  return times === undefined ? undefined : { kind: 'repeat', times: Number(times) };
}

function germanPair(word: string): string | undefined {
  const [, unit = '', tens = ''] = GERMAN_PAIR.exec(word) ?? [];
  const value = valueIn(TENS, tens);
  return value === undefined ? undefined : `${value.charAt(0)}${unit === 'ein' ? '1' : valueIn(DIGITS, unit)}`;
}

function valueIn(table: Readonly<Record<string, string>>, word: string): string | undefined {
  return Object.hasOwn(table, word) ? table[word] : undefined;
}

function wordsOf(table: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(table).flatMap(([digits, words]) => words.split(' ').map((word) => [word, digits])),
  );
}
