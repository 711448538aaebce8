import { contentOf, elementsOf, readOne, TAG } from './der.js';

/** Object ids as the bytes of their DER contents, in hex. */
const RSA = ['2a864886f70d010101', '2a864886f70d01010a'];
const ELLIPTIC = '2a8648ce3d0201';
const CURVES = ['2a8648ce3d030107', '2b81040022', '2b81040023'];
const EDWARDS = ['2b6570', '2b6571'];

const MAX_MODULUS_BYTES = 1_025;
const MAX_EXPONENT_BYTES = 5;

/**
 * Whether computing with a public key costs little: RSA of at most 8,192 bits with an exponent of at most 32 bits, P-256,
 * P-384, P-521 by name, Ed25519 or Ed448. OpenSSL also accepts curves with custom parameters, whose points can take a
 * third of a second to decode.
 * @param key a SubjectPublicKeyInfo (RFC 5280, 4.1) in DER
 * @throws DerError
 */
export function isCheapKey(key: Buffer): boolean {
  const [algorithm, bits] = elementsOf(contentOf(readOne(key), TAG.sequence));
  const [id, parameters] = elementsOf(contentOf(algorithm, TAG.sequence));
  const kind = contentOf(id, TAG.objectId).toString('hex');
  if (kind === ELLIPTIC) return parameters?.tag === TAG.objectId && CURVES.includes(parameters.content.toString('hex'));
  return EDWARDS.includes(kind) || (RSA.includes(kind) && isSmallRsaKey(contentOf(bits, TAG.bits)));
}

function isSmallRsaKey(bits: Buffer): boolean {
  const [modulus, exponent] = elementsOf(contentOf(readOne(bits.subarray(1)), TAG.sequence));
  return (
    contentOf(modulus, TAG.integer).length <= MAX_MODULUS_BYTES &&
    contentOf(exponent, TAG.integer).length <= MAX_EXPONENT_BYTES
  );
}
