/** A piece without an end is spoken up to here at the latest. */
const MAX_CHARACTERS = 240;
/** Looks only where a run of stops begins, so that a long run takes linear time. */
const END = /(?<![.!?…])[.!?…]+["'”’)\]]*(?=\s)|[。！？]|\n/g;
/** A full stop after these does not end a sentence. */
const ABBREVIATION = /(?:^|\s)(?:Mr|Mrs|Ms|Dr|Prof|St|No|vs|e\.g|i\.e|etc|a\.m|p\.m|[A-Z])\.$/;

/** Cuts a stream of text into sentences, each as soon as it is known to be whole. */
export function createSentenceCutter() {
  let rest = '';

  function takeWhole(): string[] {
    const whole: string[] = [];
    let from = 0;
    for (const match of rest.matchAll(END)) {
      const end = match.index + match[0].length;
      const sentence = rest.slice(from, end);
      if (ABBREVIATION.test(sentence)) continue;
      whole.push(sentence);
      from = end;
    }
    rest = rest.slice(from);
    while (rest.length > MAX_CHARACTERS) {
      const space = rest.lastIndexOf(' ', MAX_CHARACTERS);
      const end = space > 0 ? space : MAX_CHARACTERS;
      whole.push(rest.slice(0, end));
      rest = rest.slice(end);
    }
    return whole.map(speakable).filter(Boolean);
  }

  return {
    /** @returns the sentences that became whole */
    push(text: string): string[] {
      rest += text;
      return takeWhole();
    },
    /** @returns what is left */
    flush(): string[] {
      const last = speakable(rest);
      rest = '';
      return last === '' ? [] : [last];
    },
  };
}

/** Without markup and control characters, on one line; nothing when there is nothing to pronounce. */
export function speakable(text: string): string {
  const plain = text
    .replace(/[\p{Cc}\p{Cf}\p{Cs}]+/gu, ' ')
    .replace(/[*_#`~|<>]+/g, '')
    .replace(/\s+/g, ' ')
    .trim();
  return /[\p{L}\p{N}]/u.test(plain) ? plain : '';
}
