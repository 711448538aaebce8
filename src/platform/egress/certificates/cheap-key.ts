/** DER tags (ITU-T X.690). */
const SEQUENCE = 0x30;
const INTEGER = 0x02;
const BIT_STRING = 0x03;
const OBJECT_ID = 0x06;
const VERSION = 0xa0;

/** Object ids as the bytes of their DER contents, in hex. */
const RSA = ['2a864886f70d010101', '2a864886f70d01010a'];
const ELLIPTIC = '2a8648ce3d0201';
const CURVES = ['2a8648ce3d030107', '2b81040022', '2b81040023'];
const EDWARDS = ['2b6570', '2b6571'];

const MAX_MODULUS_BYTES = 1_025;
const MAX_EXPONENT_BYTES = 5;

interface Element {
  tag: number;
  content: Buffer;
}

/**
 * Whether computing with the public key of a certificate costs little: RSA of at most 8,192 bits with an exponent of at
 * most 32 bits, P-256, P-384, P-521 by name, Ed25519 or Ed448. OpenSSL also accepts curves with custom parameters,
 * whose points can take a third of a second to decode. Returns false for what it cannot read.
 * @param certificate an X.509 certificate (RFC 5280) in DER
 */
export function hasCheapKey(certificate: Buffer): boolean {
  try {
    const [tbs] = elementsOf(contentOf(readOne(certificate), SEQUENCE));
    const fields = elementsOf(contentOf(tbs, SEQUENCE)).filter(({ tag }) => tag !== VERSION);
    // Serial number, signature algorithm, issuer, validity, subject, and then the key.
    const [algorithm, key] = elementsOf(contentOf(fields[5], SEQUENCE));
    const [id, parameters] = elementsOf(contentOf(algorithm, SEQUENCE));
    const kind = contentOf(id, OBJECT_ID).toString('hex');
    if (kind === ELLIPTIC) return CURVES.includes(contentOf(parameters, OBJECT_ID).toString('hex'));
    return EDWARDS.includes(kind) || (RSA.includes(kind) && isSmallRsaKey(contentOf(key, BIT_STRING)));
  } catch (error) {
    if (error instanceof DerError) return false;
    throw error;
  }
}

function isSmallRsaKey(bits: Buffer): boolean {
  const [modulus, exponent] = elementsOf(contentOf(readOne(bits.subarray(1)), SEQUENCE));
  return (
    contentOf(modulus, INTEGER).length <= MAX_MODULUS_BYTES && contentOf(exponent, INTEGER).length <= MAX_EXPONENT_BYTES
  );
}

class DerError extends Error {
  override readonly name = 'DerError';
}

function contentOf(element: Element | undefined, tag: number): Buffer {
  if (element?.tag !== tag) throw new DerError('An element is missing.');
  return element.content;
}

/** Reads one element that takes up all the bytes. */
function readOne(bytes: Buffer): Element {
  const [element, ...others] = elementsOf(bytes);
  if (element === undefined || others.length > 0) throw new DerError('One element was expected.');
  return element;
}

function elementsOf(bytes: Buffer): Element[] {
  const elements: Element[] = [];
  for (let at = 0; at < bytes.length;) {
    const { start, length } = readLength(bytes, at + 1);
    if (start + length > bytes.length) throw new DerError('An element is longer than what contains it.');
    elements.push({ tag: bytes[at] ?? 0, content: bytes.subarray(start, start + length) });
    at = start + length;
  }
  return elements;
}

/** Reads a definite length of at most three bytes. BER has other forms, which no certificate may use. */
function readLength(bytes: Buffer, at: number): { start: number; length: number } {
  const first = bytes[at];
  if (first === undefined) throw new DerError('A length is missing.');
  if (first < 0x80) return { start: at + 1, length: first };
  const size = first & 0x7f;
  if (size === 0 || size > 3 || at + 1 + size > bytes.length) throw new DerError('A length is not readable.');
  return { start: at + 1 + size, length: bytes.readUIntBE(at + 1, size) };
}
