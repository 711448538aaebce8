import type { Range } from './digit-runs.js';
import { numberWordOf } from './number-words.js';
import { withPlainSigns } from './written-digits.js';

const MAX_LOCAL = 64;
const MAX_DOMAIN = 255;
const LOCAL = /[\p{L}\p{M}\p{N}\u200b._%+'-]/u;
const DOMAIN = /[\p{L}\p{M}\p{N}\u200b.-]/u;
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
  return [...writtenAddresses(withPlainSigns(text)), ...spokenAddresses(text)];
}

function writtenAddresses(text: string): Range[] {
  const found: Range[] = [];
  for (let at = text.indexOf('@'); at !== -1; at = text.indexOf('@', at + 1)) {
    const left = text[at - 1] === ' ' ? at - 1 : at;
    const right = text[at + 1] === ' ' ? at + 2 : at + 1;
    const start = endOf(text, { from: left, step: -1, most: MAX_LOCAL, allowed: LOCAL });
    let end = endOf(text, { from: right, step: 1, most: MAX_DOMAIN, allowed: DOMAIN });
    while (end > right && /[.-]/.test(text[end - 1] ?? '')) end -= 1;
    if (start < left && WHOLE_DOMAIN.test(text.slice(right, end).replaceAll('\u200b', ''))) found.push({ start, end });
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

function wordsOf(text: string): Word[] {
  return Array.from(text.matchAll(WORD), ({ 0: whole, index }) => {
    const skipped = BEFORE_WORD.exec(whole)?.[0].length ?? 0;
    let end = whole.length;
    while (end > skipped && AFTER_WORD.has(whole[end - 1] ?? '')) end -= 1;
    const text = end - skipped > MAX_DOMAIN ? '' : whole.slice(skipped, end).normalize('NFC').toLowerCase();
    return { start: index + skipped, end: index + end, text };
  });
}

function spokenAddresses(text: string): Range[] {
  const words = wordsOf(text);
  const found: Range[] = [];
  for (const [index, word] of words.entries()) {
    const dots = Object.hasOwn(DOTS, word.text) ? DOTS[word.text] : undefined;
    if (dots === undefined) continue;
    const first = words[firstOfLocal(words, index)];
    const last = words[lastOfDomain(words, index + 1, dots) ?? -1];
    if (first !== undefined && last !== undefined) found.push({ start: first.start, end: last.end });
  }
  return found;
}

/** The index of the first word of the part before the at sign: letters, digits and words between dots. */
function firstOfLocal(words: readonly Word[], at: number): number {
  const textAt = (index: number) => words[index]?.text ?? '';
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
function lastOfDomain(words: readonly Word[], from: number, dots: readonly string[]): number | undefined {
  const textAt = (index: number) => words[index]?.text ?? '';
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
