import type { Range } from './digit-runs.js';
import { numberWordOf } from './number-words.js';
import { withPlainSigns } from './written-digits.js';

const MAX_LOCAL = 64;
const MAX_DOMAIN = 255;
const LOCAL = /[\p{L}\p{M}\p{N}\u200b._%+'-]/u;
const DOMAIN = /[\p{L}\p{M}\p{N}\u200b.-]/u;
/** A sign that may begin another form of the at sign. */
const MAY_BE_AT = /[\uff20\ufe6b([{]/;
/** A domain with a dot and a name of letters after it. */
const WHOLE_DOMAIN = /\.\p{L}{2,63}$/u;

/** How the signs of an address are said: for each word for the at sign, those for the dots that follow it. */
const DOTS: Readonly<Record<string, readonly string[]>> = {
  at: ['dot', 'punkt'],
  ät: ['dot', 'punkt'],
  '@': ['dot', 'punkt', 'punto', 'point'],
  arroba: ['punto', 'dot'],
  arobase: ['point', 'dot'],
  arobas: ['point', 'dot'],
};
const JOINTS: ReadonlySet<string> = new Set(
  'dot punkt punto point period underscore dash hyphen minus plus unterstrich bindestrich guion guión tiret'.split(' '),
);
/** A spoken address is recognized by its end, because `at` and `dot` are ordinary words as well. */
const TOP_LEVEL: ReadonlySet<string> = new Set(
  (
    'com org net edu gov mil int info biz io ai co me app dev eu uk us ca au nz ie de at ch li fr be nl lu es pt it ' +
    'dk se no fi is pl cz sk hu ro bg gr hr si ee lv lt ua ru tr il in jp cn kr br mx ar cl za'
  ).split(' '),
);
/** Words that can follow a full stop without a space. */
const ORDINARY: ReadonlySet<string> = new Set('at be co in info int is it me no si us'.split(' '));
/** Before these, `at` is no sign. */
const ARTICLES: ReadonlySet<string> = new Set(['the', 'a', 'an', 'this', 'that']);
/** Most words of the part before the at sign, and of the domain. Up to three of them are before its first dot. */
const MAX_WORDS = 40;

/** Finds e-mail addresses, written or said (`ada at example dot com`), in time linear in the length of the text. */
export function findEmailAddresses(text: string): Range[] {
  return [...writtenAddresses(MAY_BE_AT.test(text) ? withPlainSigns(text) : text), ...spokenAddresses(text)];
}

function writtenAddresses(text: string): Range[] {
  const found: Range[] = [];
  for (let at = text.indexOf('@'); at !== -1; at = text.indexOf('@', at + 1)) {
    const left = text[at - 1] === ' ' ? at - 1 : at;
    const right = text[at + 1] === ' ' ? at + 2 : at + 1;
    let end = endOf(text, { from: right, step: 1, most: MAX_DOMAIN, allowed: DOMAIN });
    while (end > right && (text[end - 1] === '.' || text[end - 1] === '-')) end -= 1;
    const domain = text.slice(right, end);
    if (!domain.includes('.') || !WHOLE_DOMAIN.test(domain.replaceAll('\u200b', ''))) continue;
    const start = endOf(text, { from: left, step: -1, most: MAX_LOCAL, allowed: LOCAL });
    if (start < left) found.push({ start, end });
  }
  return found;
}

/** Returns how far the allowed characters reach from a position. */
function endOf(text: string, p: { from: number; step: 1 | -1; most: number; allowed: RegExp }): number {
  let at = p.from;
  for (let count = 0; count < p.most; count++) {
    const next = p.step === 1 ? text[at] : text[at - 1];
    if (next === undefined || !p.allowed.test(next)) break;
    at += p.step;
  }
  return at;
}

interface Word extends Range {
  /** In lower case, without punctuation around it; empty for a text that is too long. */
  text: string;
}

const WORD = /\S+/gu;
const BEFORE_WORD = /^["'“‘„«([{<]+/u;
const AFTER_WORD = new Set('"\'”’“»)]}>,.;:!?…');
/** The beginning of all words for the at sign. Few other words begin so. */
const MAY_BE_SIGN = /^["'“‘„«([{<]*[@aä]/iu;

/** Reads a word of a text; undefined if the text has no more words. */
type WordAt = (index: number) => Word | undefined;

/** The words of a text, which are read when they are needed: most texts have no address. */
function wordsOf(text: string): { found: readonly RegExpExecArray[]; wordAt: WordAt } {
  const found = [...text.matchAll(WORD)];
  const words: Word[] = [];
  const wordAt = (index: number) => {
    const match = found[index];
    return match && (words[index] ??= wordIn(match));
  };
  return { found, wordAt };
}

function wordIn({ 0: whole, index }: RegExpExecArray): Word {
  const skipped = BEFORE_WORD.exec(whole)?.[0].length ?? 0;
  let end = whole.length;
  while (end > skipped && AFTER_WORD.has(whole[end - 1] ?? '')) end -= 1;
  const text = end - skipped > MAX_DOMAIN ? '' : whole.slice(skipped, end).normalize('NFC').toLowerCase();
  return { start: index + skipped, end: index + end, text };
}

function spokenAddresses(text: string): Range[] {
  const { found: words, wordAt } = wordsOf(text);
  const found: Range[] = [];
  for (const [index, [whole]] of words.entries()) {
    const sign = MAY_BE_SIGN.test(whole) ? (wordAt(index)?.text ?? '') : '';
    const dots = Object.hasOwn(DOTS, sign) ? DOTS[sign] : undefined;
    if (dots === undefined) continue;
    const last = wordAt(lastOfDomain(wordAt, index + 1, dots) ?? -1);
    if (last === undefined) continue;
    const first = wordAt(firstOfLocal(wordAt, index));
    if (first !== undefined) found.push({ start: first.start, end: last.end });
  }
  return found;
}

/** The index of the first word of the part before the at sign: letters, digits and words between dots. */
function firstOfLocal(wordAt: WordAt, at: number): number {
  const textAt = (index: number) => wordAt(index)?.text ?? '';
  let first = at - 1;
  while (first > 0 && at - first < MAX_WORDS) {
    const before = textAt(first - 1);
    if (JOINTS.has(before) && first > 1) first -= 2;
    else if (isSpelled(before, textAt(first - 2))) first -= 1;
    else break;
  }
  return first;
}

/** Whether a word is a letter or a number within an address that is spelled. `a` and `I` alone are ordinary words. */
function isSpelled(word: string, before: string): boolean {
  const isLetter = word.length === 1 && ((word !== 'a' && word !== 'i') || before.length === 1);
  return isLetter || /^\p{N}/u.test(word) || isNumberWord(word);
}

const isNumberWord = (word: string) => ['digits', 'zeros', 'repeat'].includes(numberWordOf(word)?.kind ?? '');

/** The index of the last word of the domain; undefined if the words are no domain. */
function lastOfDomain(wordAt: WordAt, from: number, dots: readonly string[]): number | undefined {
  const textAt = (index: number) => wordAt(index)?.text ?? '';
  if (ARTICLES.has(textAt(from))) return undefined;
  if (isDomain(textAt(from))) return from;
  const dot = [1, 2, 3].map((count) => from + count).find((index) => dots.includes(textAt(index)));
  if (dot === undefined) return undefined;
  let last = dot - 1;
  while (dots.includes(textAt(last + 1)) && textAt(last + 2) !== '' && last - from < MAX_WORDS) last += 2;
  const ending = textAt(last);
  return TOP_LEVEL.has(ending.slice(ending.lastIndexOf('.') + 1)) ? last : undefined;
}

function isDomain(word: string): boolean {
  const dot = word.lastIndexOf('.');
  const ending = word.slice(dot + 1);
  return dot > 0 && TOP_LEVEL.has(ending) && !ORDINARY.has(ending);
}
