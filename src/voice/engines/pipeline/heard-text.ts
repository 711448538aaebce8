/** Assumed pace where nothing better is known: about 15 characters per second. */
const CHARACTERS_PER_MS = 0.015;
/** Shorter audio contains no word. */
const SHORTEST_WORD_MS = 150;

export type HeardText = ReturnType<typeof createHeardText>;

/**
 * Finds the words of an utterance that were heard, given the audio played. Exact at the boundaries that TTS reports, by
 * share of time between them, and by an average speaking pace if TTS reports none.
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
    /** The text sent to TTS so far. */
    text: () => text,
    say(sentence: string): void {
      text += text === '' ? sentence : ` ${sentence}`;
    },
    audio(ms: number): void {
      openMs += ms;
    },
    /** Estimated length of the audio still to come, in ms, at an average speaking pace. */
    comingMs: () => Math.max(0, (text.length - known()) / CHARACTERS_PER_MS - openMs),
    /** TTS reports the text of all audio since the previous report. */
    spoken(words: string): void {
      pieces.push({ characters: Math.min(words.length, text.length - known()), ms: openMs });
      openMs = 0;
    },
    /** The whole text has become audio. */
    done(): void {
      pieces.push({ characters: text.length - known(), ms: openMs });
      openMs = 0;
    },
    /** Shortens the text to what the audio so far contains. @returns the rest of the text */
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

/** The end of the last complete word at or before the position. */
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
