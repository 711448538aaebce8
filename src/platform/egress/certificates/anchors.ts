import { readFileSync } from 'node:fs';
import * as tls from 'node:tls';
import { readCertificate } from './certificate.js';
import { DerError } from './der.js';

const PEM = /-----BEGIN (?:X509 )?CERTIFICATE-----([^-]+)-----END/g;

export interface TrustAnchors {
  /** Whether this is the certificate of an anchor. */
  has(certificate: Buffer): boolean;
  /** Returns the public keys of the anchors with this name. */
  keysOf(subject: string): readonly Buffer[];
}

/** Returns the authorities that Node.js trusts, as TLS does. */
export function loadTrustAnchors(): TrustAnchors {
  return createTrustAnchors(trustedByNode());
}

/** @param certificates in PEM, each text with any number of them */
export function createTrustAnchors(certificates: readonly string[]): TrustAnchors {
  const known = new Set<string>();
  const keys = new Map<string, Buffer[]>();
  for (const bytes of certificates.flatMap(decodePem)) {
    known.add(bytes.toString('base64'));
    const anchor = readAnchor(bytes);
    if (anchor !== undefined) keys.set(anchor.subject, [...(keys.get(anchor.subject) ?? []), anchor.key]);
  }
  return {
    has: (certificate) => known.has(certificate.toString('base64')),
    keysOf: (subject) => keys.get(subject) ?? [],
  };
}

function decodePem(text: string): Buffer[] {
  return [...text.matchAll(PEM)].map(([, base64 = '']) => Buffer.from(base64, 'base64'));
}

function readAnchor(bytes: Buffer) {
  try {
    return readCertificate(bytes);
  } catch (error) {
    if (error instanceof DerError) return undefined;
    throw error;
  }
}

function trustedByNode(): readonly string[] {
  // Since Node.js 22.15; it includes those of `NODE_EXTRA_CA_CERTS` and of the system if Node.js was started so.
  const { getCACertificates } = tls as { getCACertificates?: (type: 'default') => string[] };
  if (getCACertificates !== undefined) return getCACertificates('default');
  const extra = process.env['NODE_EXTRA_CA_CERTS'];
  return extra === undefined ? tls.rootCertificates : [...tls.rootCertificates, readExtra(extra)];
}

/** Node.js only warns about a file that it cannot read. */
function readExtra(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
