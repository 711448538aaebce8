import { constants, verify } from 'node:crypto';
import { contentOf, DerError, elementsOf, readOne, TAG, type Element } from './der.js';

/**
 * The tags of what is signed, in hex: version, serial number, algorithm, issuer, validity, subject, key, two ids that
 * are out of use, and extensions (RFC 5280, 4.1).
 */
const SIGNED_FIELDS = /^(?<version>a0)?02(30){5}(81|a1)?(82|a2)?(?<extensions>a3)?$/;
/** The name of a distribution point, and its form that adds to the name of the issuer (RFC 5280, 4.2.1.13). */
const POINT_NAME = 0xa0;
const RELATIVE_NAME = 0xa1;
const TRUE = 0xff;

/** Object ids as the bytes of their DER contents, in hex. */
const BASIC_CONSTRAINTS = '551d13';
const DISTRIBUTION_POINTS = '551d1f';
const RSA_PSS = '2a864886f70d01010a';
const HASH_OF_SIGNATURE: Readonly<Record<string, string | null>> = {
  // RSA (RFC 4055) and ECDSA (RFC 5758) with SHA-256, SHA-384 and SHA-512
  '2a864886f70d01010b': 'sha256',
  '2a864886f70d01010c': 'sha384',
  '2a864886f70d01010d': 'sha512',
  '2a8648ce3d040302': 'sha256',
  '2a8648ce3d040303': 'sha384',
  '2a8648ce3d040304': 'sha512',
  // Ed25519 and Ed448 (RFC 8410), which contain their hash
  '2b6570': null,
  '2b6571': null,
};
const HASH_OF_PSS: Readonly<Record<string, string>> = {
  '608648016503040201': 'sha256',
  '608648016503040202': 'sha384',
  '608648016503040203': 'sha512',
};

/** The parts of an X.509 certificate that its trust depends on (RFC 5280), without further decoding. */
export interface Certificate {
  bytes: Buffer;
  issuer: string;
  subject: string;
  /** The public key as a SubjectPublicKeyInfo in DER. */
  key: Buffer;
  /** Whether it may sign other certificates. */
  isAuthority: boolean;
  /** Whether OpenSSL copies the name of the issuer for each distribution point of revocation lists. */
  hasRelativeNames: boolean;
  signed: Buffer;
  signatureAlgorithm: Element;
  signature: Buffer;
}

/**
 * Reads a certificate in DER, in linear time.
 * @throws DerError
 */
export function readCertificate(bytes: Buffer): Certificate {
  const [signed, outerAlgorithm, signature, ...others] = elementsOf(contentOf(readOne(bytes), TAG.sequence));
  const fields = elementsOf(contentOf(signed, TAG.sequence));
  const form = SIGNED_FIELDS.exec(fields.map(({ tag }) => tag.toString(16).padStart(2, '0')).join(''))?.groups;
  if (form === undefined) throw new DerError('The fields of a certificate are not in their order.');
  const [, signatureAlgorithm, issuer, , subject, key] = form['version'] === undefined ? fields : fields.slice(1);
  if (signed === undefined || signatureAlgorithm === undefined || key === undefined)
    throw new DerError('An element is missing.');
  const bits = contentOf(signature, TAG.bits);
  const extensions = readExtensions(form['extensions'] === undefined ? [] : fields.slice(-1));
  // So that all bytes are signed, except for the signature.
  if (outerAlgorithm?.bytes.equals(signatureAlgorithm.bytes) !== true || others.length > 0 || bits[0] !== 0)
    throw new DerError('An element differs from what is signed.');
  return {
    bytes,
    issuer: readName(issuer),
    subject: readName(subject),
    key: key.bytes,
    isAuthority: extensions.some(({ id, value }) => id === BASIC_CONSTRAINTS && isAuthority(value)),
    hasRelativeNames: extensions.some(({ id, value }) => id === DISTRIBUTION_POINTS && hasRelativeNames(value)),
    signed: signed.bytes,
    signatureAlgorithm,
    signature: bits.subarray(1),
  };
}

/** Returns a name in a form that can be compared. Authorities may change cases, spaces or the types of texts. */
function readName(name: Element | undefined): string {
  const parts = elementsOf(contentOf(name, TAG.sequence)).flatMap(({ content }) => elementsOf(content));
  return parts
    .map((part) => elementsOf(contentOf(part, TAG.sequence)))
    .map(([id, value]) => `${id?.content.toString('hex')}=${value === undefined ? '' : textOf(value)}`)
    .join('\n');
}

function textOf({ tag, content }: Element): string {
  const isWide = tag === TAG.wideText && content.length % 2 === 0;
  const text = isWide ? Buffer.from(content).swap16().toString('utf16le') : content.toString('latin1');
  return text.trim().replace(/\s+/g, ' ').toLowerCase();
}

function readExtensions(parts: readonly Element[]): { id: string; value: Buffer }[] {
  const extensions = parts.flatMap(({ content }) => elementsOf(contentOf(readOne(content), TAG.sequence)));
  return extensions.map((extension) => {
    const fields = elementsOf(contentOf(extension, TAG.sequence));
    return { id: contentOf(fields[0], TAG.objectId).toString('hex'), value: contentOf(fields.at(-1), TAG.octets) };
  });
}

function isAuthority(basicConstraints: Buffer): boolean {
  const [flag] = elementsOf(contentOf(readOne(basicConstraints), TAG.sequence));
  return flag?.tag === TAG.boolean && flag.content[0] === TRUE;
}

function hasRelativeNames(points: Buffer): boolean {
  const fields = elementsOf(contentOf(readOne(points), TAG.sequence)).flatMap((point) =>
    elementsOf(contentOf(point, TAG.sequence)),
  );
  return fields
    .filter(({ tag }) => tag === POINT_NAME)
    .some(({ content }) => elementsOf(content).some(({ tag }) => tag === RELATIVE_NAME));
}

/** Whether the owner of this key signed the certificate, by an algorithm of today. */
export function isCertifiedBy(certificate: Certificate, key: Buffer): boolean {
  const { signed, signature, signatureAlgorithm } = certificate;
  const [id, parameters] = elementsOf(contentOf(signatureAlgorithm, TAG.sequence));
  const kind = contentOf(id, TAG.objectId).toString('hex');
  const hash = kind === RSA_PSS ? hashOfPss(parameters) : HASH_OF_SIGNATURE[kind];
  if (hash === undefined) return false;
  const padding = kind === RSA_PSS ? { padding: constants.RSA_PKCS1_PSS_PADDING } : {};
  try {
    return verify(hash, signed, { key, format: 'der', type: 'spki', ...padding }, signature);
  } catch {
    // The key is not of the kind that the algorithm names.
    return false;
  }
}

function hashOfPss(parameters: Element | undefined): string | undefined {
  const [hash] = elementsOf(contentOf(parameters, TAG.sequence));
  if (hash === undefined) return undefined;
  const [id] = elementsOf(contentOf(readOne(hash.content), TAG.sequence));
  return HASH_OF_PSS[contentOf(id, TAG.objectId).toString('hex')];
}
