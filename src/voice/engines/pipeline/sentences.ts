import { wholeCharacters } from '../../session/speech-limits.js';
import { END, endsSentence } from '../sentence-ends.js';

/** Text is cut at this length, whether its sentence ends or not. */
const MAX_CHARACTERS = 240;

/** Splits a stream of text into sentences, each as soon as it is complete. */
export function createSentenceSplitter() {
  let rest = '';

  function takeSentences(): string[] {
    const whole: string[] = [];
    let from = 0;
    for (const match of rest.matchAll(END)) {
      const end = match.index + match[0].length;
      const sentence = rest.slice(from, end);
      if (!endsSentence(sentence, match[0], rest.charAt(end))) continue;
      const [parts, last] = cut(sentence);
      whole.push(...parts, last);
      from = end;
    }
    const [parts, last] = cut(rest.slice(from));
    rest = last;
    whole.push(...parts);
    return whole.map(toSpeakable).filter(Boolean);
  }

  return {
    /** @returns the sentences that became complete */
    push(text: string): string[] {
      rest += text;
      return takeSentences();
    },
    /** @returns the rest of the text */
    flush(): string[] {
      const last = toSpeakable(rest);
      rest = '';
      return last === '' ? [] : [last];
    },
  };
}

/** Cuts a text into parts of the maximum length, between words if possible. @returns them and the rest */
function cut(text: string): [parts: string[], rest: string] {
  const parts: string[] = [];
  let rest = text;
  while (rest.length > MAX_CHARACTERS) {
    const space = rest.lastIndexOf(' ', MAX_CHARACTERS);
    const end = space > 0 ? space : wholeCharacters(rest, MAX_CHARACTERS);
    parts.push(rest.slice(0, end));
    rest = rest.slice(end);
  }
  return [parts, rest];
}

/** Removes markup, control characters and line breaks; returns an empty string if nothing is pronounceable. */
export function toSpeakable(text: string): string {
  const plain = text
    .replace(/[\p{Cc}\p{Cf}\p{Cs}]+/gu, ' ')
    .replace(/[*_#`~|<>]+/g, '')
    .replace(/\s+/g, ' ')
    .trim();
  return /[\p{L}\p{N}]/u.test(plain) ? plain : '';
}
