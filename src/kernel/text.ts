/** Characters as people and JSON Schema count them: one outside the basic plane is one, not the two units it is stored as. */
export function characterCount(text: string): number {
  let count = 0;
  for (const _character of text) count += 1;
  return count;
}

/** Bytes of a text in UTF-8, in browsers, too. */
export function byteCount(text: string): number {
  return new TextEncoder().encode(text).length;
}

/** A text without the run of one character at its end. A regular expression for it takes quadratic time. */
export function withoutTrailing(text: string, character: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === character) end -= 1;
  return text.slice(0, end);
}

/**
 * The URL that a text is, or undefined. Not by `URL.canParse`: once V8 has compiled its fast path, that of Node 20.20 takes
 * no name with letters such as ü any more (20.20.2 after some 8,400 calls).
 */
export function urlFrom(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}
