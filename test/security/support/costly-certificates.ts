import {
  createPrivateKey,
  generateKeyPairSync,
  generatePrimeSync,
  randomBytes,
  sign,
  type KeyObject,
} from 'node:crypto';

/** DER, the encoding of certificates: a tag, the length, the content. */
function der(tag: number, ...contents: Uint8Array[]): Buffer {
  return Buffer.concat([Buffer.from([tag]), withLength(Buffer.concat(contents))]);
}

function withLength(content: Buffer): Buffer {
  if (content.length < 128) return Buffer.concat([Buffer.from([content.length]), content]);
  const length = Buffer.from(evenHex(content.length.toString(16)), 'hex');
  return Buffer.concat([Buffer.from([0x80 | length.length]), length, content]);
}

/**
 * An element whose tag has two bytes, although one would do. OpenSSL reads it as an element with the number in the second
 * byte. A reader of one byte sees an element of that length, and then others in the content.
 */
function longTag(tag: number, ...contents: Uint8Array[]): Buffer {
  return Buffer.concat([Buffer.from([tag | 0x1f, tag & 0x1f]), withLength(Buffer.concat(contents))]);
}

const evenHex = (hex: string) => (hex.length % 2 === 0 ? hex : `0${hex}`);
const sequence = (...parts: Uint8Array[]) => der(0x30, ...parts);
const objectId = (hex: string) => der(0x06, Buffer.from(hex, 'hex'));
/** A number; one whose first bit is set begins with a byte of zeros. */
const unsigned = (value: bigint) => {
  const hex = evenHex(value.toString(16));
  return der(0x02, Buffer.from(hex >= '8' ? `00${hex}` : hex, 'hex'));
};
const bits = (content: Uint8Array) => der(0x03, Buffer.from([0]), content);

const SHA256_WITH_RSA = sequence(objectId('2a864886f70d01010b'), der(0x05));
const RSA = sequence(objectId('2a864886f70d010101'), der(0x05));
const VALIDITY = sequence(der(0x17, Buffer.from('260101000000Z')), der(0x17, Buffer.from('460101000000Z')));
const ED25519 = sequence(objectId('2b6570'));
const AUTHORITY = sequence(
  objectId('551d13'),
  der(0x01, Buffer.from([255])),
  der(0x04, sequence(der(0x01, Buffer.from([255])))),
);
const IS_AUTHORITY = sequence(AUTHORITY);
const nameOf = (text: string) => nameWith(0x0c, Buffer.from(text));
const nameWith = (type: number, text: Uint8Array) => sequence(der(0x31, sequence(objectId('550403'), der(type, text))));
/** A name in DER whose text has two bytes for each character, as some authorities write it. */
export const wideNameOf = (text: string) => nameWith(0x1e, Buffer.from(text, 'utf16le').swap16());

interface CostlyKey {
  modulus: bigint;
  exponent: bigint;
  privateKey: KeyObject;
}

/** An RSA key of 3,072 bits whose public exponent is as long, so that verifying a signature takes 7 ms instead of 0.1. */
function createCostlyKey(): CostlyKey {
  const [p, q] = [generatePrimeSync(1_536, { bigint: true }), generatePrimeSync(1_536, { bigint: true })];
  const phi = (p - 1n) * (q - 1n);
  for (;;) {
    const exponent = BigInt(`0x${randomBytes(383).toString('hex')}`) | 1n;
    const d = inverse(exponent, phi);
    if (d === undefined) continue;
    const parts = { n: p * q, e: exponent, d, p, q, dp: d % (p - 1n), dq: d % (q - 1n), qi: inverse(q, p) ?? 0n };
    const key = Object.fromEntries(Object.entries(parts).map(([name, value]) => [name, base64url(value)]));
    return { modulus: p * q, exponent, privateKey: createPrivateKey({ key: { kty: 'RSA', ...key }, format: 'jwk' }) };
  }
}

const base64url = (value: bigint) => Buffer.from(evenHex(value.toString(16)), 'hex').toString('base64url');

/** The inverse of a number, or undefined if it has none. */
function inverse(value: bigint, modulus: bigint): bigint | undefined {
  let [rest, next, factor, nextFactor] = [modulus, value % modulus, 0n, 1n];
  while (next !== 0n) {
    const quotient = rest / next;
    [rest, next] = [next, rest - quotient * next];
    [factor, nextFactor] = [nextFactor, factor - quotient * nextFactor];
  }
  return rest === 1n ? ((factor % modulus) + modulus) % modulus : undefined;
}

/** Creates a chain of certificates that take long to verify, 1.3 kB each, with the key of the first. */
export function createCostlyChain(length: number): { key: string; cert: string } {
  const { modulus, exponent, privateKey } = createCostlyKey();
  const publicKey = sequence(RSA, bits(sequence(unsigned(modulus), unsigned(exponent))));
  const certificates = Array.from({ length }, (_, index) => {
    const issuer = nameOf(`c${Math.min(index + 1, length - 1)}`);
    const signed = sequence(
      der(0xa0, unsigned(2n)),
      unsigned(BigInt(index + 1)),
      SHA256_WITH_RSA,
      issuer,
      VALIDITY,
      nameOf(`c${index}`),
      publicKey,
      ...(index === 0 ? [] : [der(0xa3, IS_AUTHORITY)]),
    );
    return pem(sequence(signed, SHA256_WITH_RSA, bits(sign('sha256', signed, privateKey))));
  });
  return { key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), cert: certificates.join('') };
}

interface Issuer {
  name: string;
  privateKey: KeyObject;
}

/**
 * Creates a certificate with an Ed25519 key and its key pair.
 * @param p.issuer itself by default
 * @param p.extensions the DER of extensions
 * @param p.issuerName a name in DER in place of the issuer's
 * @param p.serial DER in place of the serial number
 * @param p.publicKey DER in place of the key
 * @param p.hidesExtensions whether to write the extensions in a form that only OpenSSL reads
 */
export function createCertificate(p: {
  name: string;
  issuer?: Issuer;
  isAuthority?: boolean;
  extensions?: readonly Buffer[];
  issuerName?: Buffer;
  serial?: Buffer;
  publicKey?: Buffer;
  hidesExtensions?: boolean;
}): Issuer & { bytes: Buffer; cert: string; key: string } {
  const { name, isAuthority = false, extensions = [], hidesExtensions = false } = p;
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const issuer = p.issuer ?? { name, privateKey };
  const all = [...(isAuthority ? [AUTHORITY] : []), ...extensions];
  const signed = sequence(
    der(0xa0, unsigned(2n)),
    p.serial ?? unsigned(1n),
    ED25519,
    p.issuerName ?? nameOf(issuer.name),
    VALIDITY,
    nameOf(name),
    p.publicKey ?? publicKey.export({ type: 'spki', format: 'der' }),
    ...(all.length === 0 ? [] : [(hidesExtensions ? longTag : der)(0xa3, sequence(...all))]),
  );
  const bytes = sequence(signed, ED25519, bits(sign(null, signed, issuer.privateKey)));
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  return { name, privateKey, bytes, cert: pem(bytes), key };
}

/** An extension that no program knows. */
export const unusedExtension = (value: Buffer) => sequence(objectId('2a0304'), der(0x04, value));

/**
 * Creates a certificate for which OpenSSL copies the name of its issuer, 850 parts, 1,250 times, because as many distribution
 * points of revocation lists refer to it: a second of CPU and 130 MB.
 */
export function createManyNames({ parts = 850, points: count = 1_250, hidesExtensions = false } = {}) {
  const part = der(0x31, sequence(der(0x06, Buffer.from([0x2a])), der(0x0c)));
  const point = sequence(der(0xa0, der(0xa1)));
  const points = sequence(objectId('551d1f'), der(0x04, sequence(...Array.from({ length: count }, () => point))));
  const issuerName = sequence(...Array.from({ length: parts }, () => part));
  return createCertificate({ name: 'many', issuerName, extensions: [points], hidesExtensions });
}

/**
 * Creates a certificate in which OpenSSL finds this key, but a reader that does not know tags of two bytes finds another one, in
 * what OpenSSL takes for the serial number.
 */
export function createHiddenKey(publicKey: Buffer) {
  const shown = generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'der' });
  const serial = longTag(0x02, Buffer.from([1]), ED25519, sequence(), sequence(), sequence(), shown);
  return createCertificate({ name: 'hidden', serial, publicKey });
}

function pem(certificate: Buffer): string {
  const lines = certificate.toString('base64').match(/.{1,64}/g) ?? [];
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
}
