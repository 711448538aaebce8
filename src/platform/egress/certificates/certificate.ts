import { constants, verify } from 'node:crypto';
import { contentOf, DerError, elementsOf, readOne, TAG, type Element } from './der.js';

const VERSION = 0xa0;
const EXTENSIONS = 0xa3;
const TRUE = 0xff;

/** Object ids as the bytes of their DER contents, in hex. */
const BASIC_CONSTRAINTS = '551d13';
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
  const fields = elementsOf(contentOf(signed, TAG.sequence)).filter(({ tag }) => tag !== VERSION);
  const [, signatureAlgorithm, issuer, , subject, key, ...rest] = fields;
  if (signed === undefined || signatureAlgorithm === undefined || key?.tag !== TAG.sequence)
    throw new DerError('An element is missing.');
  const bits = contentOf(signature, TAG.bits);
  // So that all bytes are signed, except for the signature.
  if (outerAlgorithm?.bytes.equals(signatureAlgorithm.bytes) !== true || others.length > 0 || bits[0] !== 0)
    throw new DerError('An element differs from what is signed.');
  return {
    bytes,
    issuer: readName(issuer),
    subject: readName(subject),
    key: key.bytes,
    isAuthority: isAuthority(rest.find(({ tag }) => tag === EXTENSIONS)),
    signed: signed.bytes,
    signatureAlgorithm,
    signature: bits.subarray(1),
  };
}

/** Returns a name in a form that can be compared. Authorities may change cases or the types of texts between certificates. */
function readName(name: Element | undefined): string {
  const parts = elementsOf(contentOf(name, TAG.sequence)).flatMap(({ content }) => elementsOf(content));
  return parts
    .map((part) => elementsOf(contentOf(part, TAG.sequence)))
    .map(([id, value]) => `${id?.content.toString('hex')}=${value?.content.toString('latin1').trim().toLowerCase()}`)
    .join('\n');
}

function isAuthority(extensions: Element | undefined): boolean {
  if (extensions === undefined) return false;
  for (const extension of elementsOf(contentOf(readOne(extensions.content), TAG.sequence))) {
    const fields = elementsOf(contentOf(extension, TAG.sequence));
    if (contentOf(fields[0], TAG.objectId).toString('hex') !== BASIC_CONSTRAINTS) continue;
    const [flag] = elementsOf(contentOf(readOne(contentOf(fields.at(-1), TAG.octets)), TAG.sequence));
    return flag?.tag === TAG.boolean && flag.content[0] === TRUE;
  }
  return false;
}

/** Whether the owner of this key signed the certificate, by an algorithm of today. */
export function isSignedBy(certificate: Certificate, key: Buffer): boolean {
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
