/**
 * The terms under which a call is found. A term is a lower-case word without accents. A search term of three or more
 * characters finds every term that begins with it, so a database needs only an ordinary index on a list of strings, and no text search.
 */

/** Longest term, in UTF-16 code units; longer words are cut, in calls and in searches alike. */
const MAX_TERM_LENGTH = 32;
/** Maximum terms of a transcript, because each is an entry of an index. Two hours of talk have about as many. */
const MAX_TRANSCRIPT_TERMS = 1_000;
/**
 * How much of a transcript is read, with and without its characters taken apart: about four hours of talk. One character
 * can stand for 18.
 */
const MAX_TRANSCRIPT_LENGTH = 250_000;
/**
 * How much of a transcript is split at once, in UTF-16 code units. Characters with many accents take time in proportion to
 * the square of their number.
 */
const PIECE_LENGTH = 500;
/** If a piece ends within a word, the next one begins with its last character, so that each pair of characters is in one. */
const PIECE_OVERLAP = 2;
const MAX_ID_TERMS = 40;
/** Further words of a search are ignored. */
const MAX_SEARCH_TERMS = 10;
/** The shortest end of a phone number that is a term. */
const MIN_NUMBER_LENGTH = 4;
/** The shortest term that also finds longer ones, except in scripts that do not separate words. */
const MIN_BEGINNING_LENGTH = 3;
/** A number with an international or national prefix (00 or 0), which E.164 numbers do not have, is at least this long. */
const MIN_PREFIXED_LENGTH = 7;

const WORD = /[\p{L}\p{N}]+/gu;
/** Scripts that do not separate words. */
const UNSPACED =
  '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}\\p{Script=Myanmar}';
const HAS_UNSPACED = new RegExp(`[${UNSPACED}]`, 'u');
const SAME_KIND_OF_SCRIPT = new RegExp(`[${UNSPACED}]+|[^${UNSPACED}]+`, 'gu');
const SPEAKER = /^(?:agent|caller): /gm;
const NUMBER = /^[+(]?\d[\d\s()./-]*$/;

/** The data that a call has from the beginning. Old calls may lack some of it. */
interface Findable {
  fromPhoneNumber?: string;
  toPhoneNumber?: string;
  externalCallId?: string;
}

/** Returns the terms of the data that a call has from the beginning. */
export function termsOfCall({ fromPhoneNumber = '', toPhoneNumber = '', externalCallId = '' }: Findable): string[] {
  const numbers = [fromPhoneNumber, toPhoneNumber].flatMap(endsOfNumber);
  const ids = firstTerms(externalCallId, MAX_ID_TERMS);
  return [...new Set([...numbers, ...ids, ...ids.map(withoutZeros)])].filter((term) => term !== '');
}

/**
 * Returns the terms of a transcription, in which each line begins with the speaker. Pauses after each short piece, because
 * the whole text can take long, and other calls must not wait for it.
 */
export function* stepsToTerms(transcription: string): Generator<undefined, string[]> {
  const text = transcription.slice(0, MAX_TRANSCRIPT_LENGTH).replaceAll(SPEAKER, '');
  const terms = new Set<string>();
  let read = 0;
  for (let at = 0; at < text.length && read < MAX_TRANSCRIPT_LENGTH && terms.size < MAX_TRANSCRIPT_TERMS;) {
    const end = endOfPiece(text, at);
    read += addTerms(text.slice(at, end), { terms, most: MAX_TRANSCRIPT_TERMS, isWhole: true });
    at = end === text.length || isSpace(text, end - 1) ? end : end - PIECE_OVERLAP;
    yield;
  }
  return [...terms];
}

/** Returns the terms of a transcription at once. */
export function termsOfTranscription(transcription: string): string[] {
  const steps = stepsToTerms(transcription);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/**
 * Returns the sets of terms of a search. A call is found if it has all terms of one set, each as the beginning of one of
 * its terms (one or two letters: as a whole term). Digits with spaces or punctuation are a phone number, or parts of an id. A text that has neither letters nor
 * digits returns no set and finds no call.
 */
export function termsOfSearch(text: string): string[][] {
  const words = firstTerms(text, MAX_SEARCH_TERMS, false);
  if (words.length === 0) return [];
  const digits = text.replaceAll(/\D/g, '');
  if (!NUMBER.test(text.trim()) || digits.length < MIN_NUMBER_LENGTH) return [words];
  const number = digits.length < MIN_PREFIXED_LENGTH ? digits : withoutZeros(digits);
  return number === words[0] ? [words] : [[number.slice(0, MAX_TERM_LENGTH)], words];
}

/** Whether a call with these terms is found by the sets of terms of a search. Database queries apply the same rule. */
export function hasTerms(terms: readonly string[], sets: readonly (readonly string[])[]): boolean {
  const finds = (wanted: string) => (term: string) => (isBeginning(wanted) ? term.startsWith(wanted) : term === wanted);
  return sets.some((set) => set.every((wanted) => terms.some(finds(wanted))));
}

/**
 * Whether a term of a search also finds longer ones. One or two letters do not: they begin most words of most calls, so a
 * query would read nearly the whole index.
 */
export function isBeginning(term: string): boolean {
  return term.length >= MIN_BEGINNING_LENGTH || HAS_UNSPACED.test(term);
}

/** Every end of a phone number, so that any part of the number is the beginning of a term. */
function endsOfNumber(phoneNumber: string): string[] {
  const digits = phoneNumber.replaceAll(/\D/g, '');
  return Array.from({ length: Math.max(0, digits.length - MIN_NUMBER_LENGTH + 1) }, (_, start) => digits.slice(start));
}

function firstTerms(text: string, most: number, isWhole = true): string[] {
  const terms = new Set<string>();
  addTerms(text, { terms, most, isWhole });
  return [...terms];
}

/** Adds the terms of a text, up to a number. @returns the length of the text with its characters taken apart */
function addTerms(text: string, p: { terms: Set<string>; most: number; isWhole: boolean }): number {
  const { terms, most, isWhole } = p;
  const apart = text.normalize('NFKD');
  const plain = apart.replaceAll(/[\p{M}'’]/gu, '').toLowerCase();
  for (const [word] of plain.matchAll(WORD)) {
    for (const term of HAS_UNSPACED.test(word) ? pairsOf(word, isWhole) : [word.slice(0, MAX_TERM_LENGTH)]) {
      terms.add(term);
      if (terms.size >= most) return apart.length;
    }
  }
  return apart.length;
}

/** The end of the piece of a text that begins at a position: after a space, if there is one. */
function endOfPiece(text: string, at: number): number {
  if (at + PIECE_LENGTH >= text.length) return text.length;
  for (let end = at + PIECE_LENGTH; end > at; end--) if (isSpace(text, end - 1)) return end;
  return at + PIECE_LENGTH;
}

const isSpace = (text: string, at: number) => text[at] === ' ' || text[at] === '\n';

/**
 * Splits a text without spaces into all pairs of neighboring characters, because its words are not known.
 * @param isWhole whether the last character is a term too, so that it can be found alone
 */
function pairsOf(word: string, isWhole: boolean): string[] {
  return (word.match(SAME_KIND_OF_SCRIPT) ?? []).flatMap((part) => {
    if (!HAS_UNSPACED.test(part)) return [part.slice(0, MAX_TERM_LENGTH)];
    const characters = Array.from(part);
    const pairs = characters.slice(1).map((character, before) => `${characters[before]}${character}`);
    return isWhole || pairs.length === 0 ? [...pairs, ...characters.slice(-1)] : pairs;
  });
}

const withoutZeros = (term: string) => (/^\d+$/.test(term) && term.replace(/^0+/, '')) || term;
