/**
 * Maximum weight of one piece, as a number of letters in plain words: about 10 s of speech, which the thread
 * synthesizes in at most a second.
 */
const MAX_PIECE = 160;
/** Maximum length of a text in characters, and its maximum weight: about two minutes of speech. */
const MAX_TEXT = 2_000;
/**
 * A piece ends at the end of a sentence or clause only if it has at least this weight, as a number of letters in plain
 * words.
 */
const MIN_PIECE = 60;

/** How long a character takes to say, as a number of letters in a plain word. flite reads "%" and "7" out as words. */
const WEIGHT = { digit: 9, symbol: 10, stop: 5, capital: 3, spelled: 6 };
const TOKENS = /[A-Za-z']{1,20}|[^A-Za-z']/gu;
const VOWEL = /[aeiouy]/i;
const CONSONANTS_IN_A_ROW = /[^aeiouy']{5,}/i;

interface End {
  at: number;
  weight: number;
}

/**
 * Cuts a text into pieces of at most about 10 s of speech that can be spoken separately. Drops everything after about
 * two minutes of speech.
 */
export function splitSpeech(text: string): string[] {
  const spoken = text.slice(0, MAX_TEXT);
  const pieces: string[] = [];
  let left = MAX_TEXT;
  for (let from = 0; from < spoken.length && left > 0;) {
    const { at, weight } = endOfPiece(spoken.slice(from), Math.min(left, MAX_PIECE));
    const piece = spoken.slice(from, from + at).trim();
    if (piece !== '') pieces.push(piece);
    from += at;
    left -= weight;
  }
  return pieces;
}

/** Finds the end of the first piece: if possible the end of the text, a sentence, a clause or a word. */
function endOfPiece(text: string, max: number): End {
  const ends: { sentence?: End; part?: End; word?: End } = {};
  let here: End = { at: 0, weight: 0 };
  for (const [token] of text.matchAll(TOKENS)) {
    const next = { at: here.at + token.length, weight: here.weight + weightOf(token) };
    if (next.weight > max && here.at > 0) return ends.sentence ?? ends.part ?? ends.word ?? here;
    if (/\s/.test(token)) {
      const before = text.charAt(here.at - 1);
      if (here.weight >= MIN_PIECE && /[.!?]/.test(before)) ends.sentence = next;
      if (here.weight >= MIN_PIECE && /[,;:]/.test(before)) ends.part = next;
      ends.word = next;
    }
    here = next;
  }
  return here;
}

function weightOf(token: string): number {
  if (/^[A-Za-z']/.test(token)) {
    // flite spells out words it cannot pronounce.
    if (!VOWEL.test(token) || CONSONANTS_IN_A_ROW.test(token)) return token.length * WEIGHT.spelled;
    return token.length + (token.match(/[A-Z]/g)?.length ?? 0) * (WEIGHT.capital - 1);
  }
  if (/\d/.test(token)) return WEIGHT.digit;
  if (/[.,;:!?\n]/.test(token)) return WEIGHT.stop;
  return /[!-~]/.test(token) ? WEIGHT.symbol : 1;
}
