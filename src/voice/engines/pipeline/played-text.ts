import { wholeCharacters } from '../../session/speech-limits.js';

/** Assumed speaking pace if TTS reports no timing: about 15 characters per second. */
const CHARACTERS_PER_MS = 0.015;
/** Audio shorter than this contains no word. */
const SHORTEST_WORD_MS = 150;
/** Characters without a space that are longer than this are no single word. */
const LONGEST_WORD = 40;

export type PlayedText = ReturnType<typeof createPlayedText>;

/**
 * Finds which words of an utterance were heard, given how much audio was played. The result is exact at the boundaries
 * that TTS reports. Between two boundaries, the words are estimated from the share of the time. If TTS reports no
 * boundaries, they are estimated from an average speaking pace.
 */
export function createPlayedText() {
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
    pendingMs: () => Math.max(0, (text.length - known()) / CHARACTERS_PER_MS - openMs),
    /** Call this when TTS reports the text of all audio since its previous report. */
    spoken(words: string): void {
      pieces.push({ characters: Math.min(words.length, text.length - known()), ms: openMs });
      openMs = 0;
    },
    /** Call this when all text was synthesized. */
    done(): void {
      pieces.push({ characters: text.length - known(), ms: openMs });
      openMs = 0;
    },
    /** Cuts off the text that the audio so far does not contain. @returns the text cut off */
    truncate(): string {
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

/** The end of the last complete word at or before the position, or the position in a text without spaces. */
function wholeWords(text: string, position: number): number {
  const at = Math.round(position);
  if (at >= text.length) return text.length;
  if (/\s/.test(text.charAt(at))) return at;
  const end = Math.max(0, text.lastIndexOf(' ', at));
  return at - end > LONGEST_WORD ? wholeCharacters(text, at) : end;
}

/** The end of the first word, or of its first characters if it is too long for a word. */
function firstWord(text: string): number {
  const space = text.indexOf(' ');
  const end = space < 0 ? text.length : space;
  return end > LONGEST_WORD ? wholeCharacters(text, LONGEST_WORD) : end;
}
