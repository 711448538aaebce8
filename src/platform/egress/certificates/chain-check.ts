import type { TrustAnchors } from './anchors.js';
import { isCertifiedBy, readCertificate, type Certificate } from './certificate.js';
import { isCheapKey } from './cheap-key.js';
import { DerError } from './der.js';

/** Real chains have two to four certificates. */
const MAX_CERTIFICATES = 10;
/** Certificates that no trusted authority signed, such as those that lead to a forgotten one. */
const MAX_UNTRUSTED = { certificates: 2, bytes: 2_048 };

/**
 * Finds the fault of a chain whose verification could be costly; undefined if there is none. OpenSSL decodes what
 * certificates contain before it knows whether it trusts them, and some of it takes time and memory that grow with the
 * square of their length. So a chain is passed on to it only if a trusted authority signed its first certificate, and
 * all others but two small ones. An authority does not sign what its customers make up. This does not replace the
 * verification by OpenSSL, which also looks at names, dates and purposes.
 * @param chain certificates in DER, that of the server first
 */
export function findChainFault(chain: readonly Buffer[], anchors: TrustAnchors): string | undefined {
  if (chain.length > MAX_CERTIFICATES) return 'The server sent too many certificates.';
  let certificates: Certificate[];
  try {
    certificates = chain.map(readCertificate);
    if (!certificates.every(({ bytes, key }) => isCheapKey(key) && !hasCustomCurve(bytes)))
      return 'A certificate of the server has an unusual key.';
    const untrusted = findUntrusted(certificates, anchors);
    const [first] = certificates;
    if (first === undefined || untrusted.includes(first)) return 'No trusted authority signed the certificate.';
    const { certificates: most, bytes: mostBytes } = MAX_UNTRUSTED;
    const isCheap =
      untrusted.length <= most &&
      untrusted.every(({ bytes, hasRelativeNames }) => bytes.length <= mostBytes && !hasRelativeNames);
    return isCheap ? undefined : 'The server sent certificates that no trusted authority signed.';
  } catch (error) {
    if (error instanceof DerError) return 'A certificate of the server is not readable.';
    throw error;
  }
}

/** Kinds of fields (ANSI X9.62), as the bytes of their object ids. Only a curve with custom parameters names one. */
const CUSTOM_CURVES = ['06072a8648ce3d0101', '06072a8648ce3d0102'].map((hex) => Buffer.from(hex, 'hex'));

/** Whether a custom curve may be anywhere in a certificate, also where this check expects no key. */
function hasCustomCurve(bytes: Buffer): boolean {
  return CUSTOM_CURVES.some((id) => bytes.includes(id));
}

/** Returns the certificates that are not signed by an anchor, nor by one that is, and so on. */
function findUntrusted(certificates: readonly Certificate[], anchors: TrustAnchors): Certificate[] {
  let untrusted = certificates.filter((each) => !isCertifiedByAnchor(each, anchors));
  let signers = certificates.filter((each) => !untrusted.includes(each));
  while (signers.length > 0 && untrusted.length > 0) {
    const found = untrusted.filter((each) => signers.some((signer) => isCertifiedByAuthority(each, signer)));
    untrusted = untrusted.filter((each) => !found.includes(each));
    signers = found;
  }
  return untrusted;
}

function isCertifiedByAnchor(certificate: Certificate, anchors: TrustAnchors): boolean {
  if (anchors.has(certificate.bytes)) return true;
  return anchors.keysOf(certificate.issuer).some((key) => isCertifiedBy(certificate, key));
}

function isCertifiedByAuthority(certificate: Certificate, signer: Certificate): boolean {
  return signer.isAuthority && signer.subject === certificate.issuer && isCertifiedBy(certificate, signer.key);
}
