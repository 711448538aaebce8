/** Speech of which no more is known: about 15 characters a second. */
const CHARACTERS_PER_MS = 0.015;
/** Less than this is no word. */
const SHORTEST_WORD_MS = 150;

export type HeardText = ReturnType<typeof createHeardText>;

/**
 * Tells which words of an utterance were heard by how much of its audio was. Exact where the voice tells what its audio
 * speaks, by share of time within such a piece, and by an average speaker's pace where it tells nothing.
 */
export function createHeardText() {
  let text = '';
  const pieces: { characters: number; ms: number }[] = [];
  let openMs = 0;

  const known = () => pieces.reduce((sum, piece) => sum + piece.characters, 0);

  function charactersAt(ms: number): number {
    let characters = 0;
    let left = ms;
    for (const piece of pieces) {
      if (left < piece.ms) return characters + (piece.characters * left) / Math.max(1, piece.ms);
      characters += piece.characters;
      left -= piece.ms;
    }
    return Math.min(text.length, characters + left * CHARACTERS_PER_MS);
  }

  return {
    /** The text handed to the voice so far. */
    text: () => text,
    say(sentence: string): void {
      text += text === '' ? sentence : ` ${sentence}`;
    },
    audio(ms: number): void {
      openMs += ms;
    },
    /** How long the audio lasts that is still to come, ms, by an average speaker's pace. */
    comingMs: () => Math.max(0, (text.length - known()) / CHARACTERS_PER_MS - openMs),
    /** All audio since the last piece speaks these words. */
    spoken(words: string): void {
      pieces.push({ characters: Math.min(words.length, text.length - known()), ms: openMs });
      openMs = 0;
    },
    /** All of the text has become audio. */
    done(): void {
      pieces.push({ characters: text.length - known(), ms: openMs });
      openMs = 0;
    },
    /** What the audio so far speaks; the rest of the text is given back and forgotten here. */
    breakOff(): string {
      const total = pieces.reduce((sum, piece) => sum + piece.ms, openMs);
      const spokenUpTo = wholeWords(text, charactersAt(total));
      const rest = text.slice(spokenUpTo).trim();
      text = text.slice(0, spokenUpTo).trimEnd();
      if (openMs > 0) pieces.push({ characters: Math.max(0, text.length - known()), ms: openMs });
      openMs = 0;
      return rest;
    },
    /** @returns the words heard and those not heard */
    at(playedMs: number): { heard: string; unheard: string } {
      if (playedMs < SHORTEST_WORD_MS) return { heard: '', unheard: text };
      const end = Math.max(wholeWords(text, charactersAt(playedMs)), firstWord(text));
      return { heard: text.slice(0, end).trim(), unheard: text.slice(end).trim() };
    },
  };
}

/** Where the last word ends that ends at or before the position. */
function wholeWords(text: string, position: number): number {
  const at = Math.round(position);
  if (at >= text.length) return text.length;
  if (/\s/.test(text.charAt(at))) return at;
  return Math.max(0, text.lastIndexOf(' ', at));
}

function firstWord(text: string): number {
  const space = text.indexOf(' ');
  return space < 0 ? text.length : space;
}
