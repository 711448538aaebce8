import type { Pronunciation } from '../../../../kernel/conversation/conversation-settings.js';
import type { TextToSpeech } from '../ports.js';

/** A part of a text, and how it is spoken; both are the same if the agent's settings do not name it. */
interface Piece {
  written: string;
  spoken: string;
}

/** The most characters by which the spoken form of an utterance may exceed twice its written form. */
const MAX_EXTRA_CHARACTERS = 200;
const LETTER = /[\p{L}\p{N}]/u;
/** Scripts that do not separate words, so that a word may follow another one directly. */
const WITHOUT_SPACES = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u;

/**
 * TTS that speaks words as the agent's settings say. Everything that it reports is in the written form, so that the
 * transcript and the model's history have that. TTS is billed by the spoken form, and all limits of speech count the
 * written one. So an utterance whose spoken form gets much longer is spoken as it is written from there on.
 */
export function withPronunciations(voice: TextToSpeech, pronunciations: readonly Pronunciation[] = []): TextToSpeech {
  if (pronunciations.length === 0) return voice;
  const split = createSplitter(pronunciations);
  return {
    open(options, events) {
      const written = createWrittenText();
      const limit = createLengthLimit();
      const stream = voice.open(options, {
        ...events,
        onSpoken: (words) => events.onSpoken(written.upTo(words.length)),
      });
      return {
        ...stream,
        say(text) {
          const pieces = split(text).map(limit);
          // TTS separates two texts by a space.
          written.add([...pieces, { written: ' ', spoken: ' ' }]);
          stream.say(pieces.map(({ spoken }) => spoken).join(''));
        },
      };
    },
  };
}

/**
 * Finds the named words in a text. The longest word wins. A word that has a lower-case letter is found in any case; an
 * abbreviation in capitals only as it is, because `US` is not `us`.
 */
function createSplitter(pronunciations: readonly Pronunciation[]): (text: string) => Piece[] {
  /** The words by their first character in lower case, the longest first. */
  const byStart = new Map<string, Pronunciation[]>();
  for (const word of pronunciations.toSorted((a, b) => b.text.length - a.text.length)) {
    const start = word.text.charAt(0).toLowerCase();
    byStart.set(start, [...(byStart.get(start) ?? []), word]);
  }
  const wordAt = (text: string, at: number) =>
    byStart.get(text.charAt(at).toLowerCase())?.find((word) => isAt(text, at, word.text));

  return (text) => {
    const pieces: Piece[] = [];
    let plainFrom = 0;
    const endPlain = (at: number) => {
      const plain = text.slice(plainFrom, at);
      if (plain !== '') pieces.push({ written: plain, spoken: plain });
    };
    for (let at = 0; at < text.length;) {
      const word = wordAt(text, at);
      if (word === undefined) {
        at += 1;
        continue;
      }
      endPlain(at);
      plainFrom = at + word.text.length;
      pieces.push({ written: text.slice(at, plainFrom), spoken: word.spoken });
      at = plainFrom;
    }
    endPlain(text.length);
    return pieces;
  };
}

/** Whether a text has the whole word at a position. */
function isAt(text: string, at: number, word: string): boolean {
  const end = at + word.length;
  const found = text.slice(at, end);
  const isSame = found === word || (word !== word.toUpperCase() && found.toLowerCase() === word.toLowerCase());
  return isSame && !continues(text.charAt(at - 1), word.charAt(0)) && !continues(word.slice(-1), text.charAt(end));
}

/** Whether two neighboring characters belong to the same word. */
function continues(left: string, right: string): boolean {
  return [left, right].every((character) => LETTER.test(character) && !WITHOUT_SPACES.test(character));
}

/** Keeps a piece as written if its spoken form would make the spoken form of the utterance too long. */
function createLengthLimit(): (piece: Piece) => Piece {
  let left = MAX_EXTRA_CHARACTERS;
  return (piece) => {
    const isTooLong = piece.spoken.length > 2 * piece.written.length + left;
    const { written, spoken } = isTooLong ? { ...piece, spoken: piece.written } : piece;
    left += 2 * written.length - spoken.length;
    return { written, spoken };
  };
}

/** Finds which part of a text was spoken, given how many characters of its spoken form were. */
function createWrittenText() {
  const pieces: Piece[] = [];
  /** Characters of the first piece that were spoken before. */
  let spokenOfFirst = 0;
  return {
    add: (more: readonly Piece[]) => void pieces.push(...more),
    /** The next part of the written text. A word whose spoken form has not ended is left for the next time. */
    upTo(characters: number): string {
      let left = characters + spokenOfFirst;
      let text = '';
      for (let [head] = pieces; head !== undefined && left >= head.spoken.length; [head] = pieces) {
        left -= head.spoken.length;
        text += head.written;
        pieces.shift();
      }
      spokenOfFirst = left;
      const [first] = pieces;
      if (first === undefined || first.written !== first.spoken) return text;
      pieces[0] = { written: first.written.slice(left), spoken: first.spoken.slice(left) };
      spokenOfFirst = 0;
      return text + first.written.slice(0, left);
    },
  };
}
