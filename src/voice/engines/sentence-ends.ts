/** A run of full stops with the quotes and brackets after it, or another end of a sentence. Matches each run once, as a whole. */
export const END = /[.!?…]+["'”’)\]]*|[。！？\n]/g;
/** Begins a run of full stops, which ends a sentence only if a space follows. */
const FULL_STOP = /^[.!?…]/;
/** Abbreviations whose full stop does not end a sentence. */
const ABBREVIATION = /(?:^|\s)(?:Mr|Mrs|Ms|Dr|Prof|St|No|vs|e\.g|i\.e|etc|a\.m|p\.m|[A-Z])\.$/;
/** Of these, the ones that often end a sentence, too, as an upper-case word after them shows. */
const MAY_END = /(?:etc|a\.m|p\.m)\.$/;

/**
 * Whether a match of `END` ends a sentence.
 * @param sentence the text from the end of the sentence before, up to and including the match
 * @param next the character after the match; empty at the end of the text
 */
export function endsSentence(sentence: string, match: string, next: string): boolean {
  if (FULL_STOP.test(match) && !/\s/.test(next)) return false;
  return !ABBREVIATION.test(sentence);
}

/** Whether a sentence ends before `rest`, if the whole text is known: a lower-case word continues a sentence. */
export function endsSentenceBefore(sentence: string, match: string, rest: string): boolean {
  const continues = /^\s*\p{Ll}/u.test(rest);
  if (MAY_END.test(sentence)) return !continues && /^\s/.test(rest);
  return endsSentence(sentence, match, rest.charAt(0)) && !continues;
}
