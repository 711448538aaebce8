/** DER tags (ITU-T X.690). */
export const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bits: 0x03,
  octets: 0x04,
  objectId: 0x06,
  /** BMPString: two bytes for each character. */
  wideText: 0x1e,
  sequence: 0x30,
} as const;

export interface Element {
  tag: number;
  content: Buffer;
  /** The whole element: tag, length and content. */
  bytes: Buffer;
}

/** Thrown for what is not DER, or has another form than expected. */
export class DerError extends Error {
  override readonly name = 'DerError';
}

/** @throws DerError if the element is missing or has another tag */
export function contentOf(element: Element | undefined, tag: number): Buffer {
  if (element?.tag !== tag) throw new DerError('An element is missing.');
  return element.content;
}

/**
 * Reads one element that takes up all the bytes.
 * @throws DerError
 */
export function readOne(bytes: Buffer): Element {
  const [element, ...others] = elementsOf(bytes);
  if (element === undefined || others.length > 0) throw new DerError('One element was expected.');
  return element;
}

/** A tag whose lower bits are all set has further bytes. No certificate needs one. */
const LONG_TAG = 0x1f;

/**
 * Reads the elements that follow each other, without what they contain. Rejects every form that OpenSSL reads in another
 * way, so that nothing can be hidden from this check.
 * @throws DerError
 */
export function elementsOf(bytes: Buffer): Element[] {
  const elements: Element[] = [];
  for (let at = 0; at < bytes.length;) {
    if (((bytes[at] ?? 0) & LONG_TAG) === LONG_TAG) throw new DerError('A tag has several bytes.');
    const { start, length } = readLength(bytes, at + 1);
    const end = start + length;
    if (end > bytes.length) throw new DerError('An element is longer than what contains it.');
    elements.push({ tag: bytes[at] ?? 0, content: bytes.subarray(start, end), bytes: bytes.subarray(at, end) });
    at = end;
  }
  return elements;
}

/** The shortest content whose length needs 1, 2 or 3 bytes. */
const SHORTEST_OF_SIZE = [0, 0x80, 0x1_00, 0x1_00_00] as const;

/** Reads a definite length of at most three bytes, none of them needless. BER has other forms, which no certificate may use. */
function readLength(bytes: Buffer, at: number): { start: number; length: number } {
  const first = bytes[at];
  if (first === undefined) throw new DerError('A length is missing.');
  if (first < 0x80) return { start: at + 1, length: first };
  const size = first & 0x7f;
  if (size === 0 || size > 3 || at + 1 + size > bytes.length) throw new DerError('A length is not readable.');
  const length = bytes.readUIntBE(at + 1, size);
  if (length < (SHORTEST_OF_SIZE[size] ?? 0)) throw new DerError('A length is longer than necessary.');
  return { start: at + 1 + size, length };
}
