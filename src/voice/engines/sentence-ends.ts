/** A run of full stops with the quotes and brackets after it, or another end of a sentence. Matches each run once, as a whole. */
export const END = /[.!?…]+["'”’)\]]*|[。！？\n]/g;
/** Begins a run of full stops, which ends a sentence only if a space follows. */
const FULL_STOP = /^[.!?…]/;
/** Abbreviations whose full stop does not end a sentence. */
const ABBREVIATION =
  /(?:^|\s)(?:Mr|Mrs|Ms|Dr|Prof|St|Ave|Rd|Blvd|No|Jr|Sr|Inc|Ltd|Co|vs|e\.g|i\.e|etc|a\.m|p\.m|[A-Z])\.$/;

/**
 * Whether a match of `END` ends a sentence.
 * @param sentence the text from the end of the sentence before, up to and including the match
 * @param next the character after the match; empty at the end of the text
 */
export function endsSentence(sentence: string, match: string, next: string): boolean {
  if (FULL_STOP.test(match) && !/\s/.test(next)) return false;
  return !ABBREVIATION.test(sentence);
}
