import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { hasCheapKey } from '../../src/platform/egress/certificate-keys.js';
import { createCostlyChain } from '../security/support/costly-certificates.js';

const derOf = (pem: string) => new X509Certificate(pem).raw;
const explicitCurve = readFileSync(join(__dirname, '../security/support/explicit-curve-certificate.pem'), 'utf8');
const bytesOf = (pem: string) => Buffer.from(pem.replace(/-----[^-]+-----|\s/g, ''), 'base64');

describe('the check of a certificate’s key', () => {
  it('accepts the keys of all authorities that Node.js trusts', () => {
    expect(rootCertificates.length).toBeGreaterThan(100);
    expect(rootCertificates.filter((pem) => !hasCheapKey(derOf(pem)))).toEqual([]);
  });

  it('rejects RSA keys with long exponents, and curves with custom parameters', () => {
    expect(hasCheapKey(bytesOf(createCostlyChain(1).cert))).toBe(false);
    expect(hasCheapKey(bytesOf(explicitCurve))).toBe(false);
  });

  it('rejects what is cut off, changed or followed by more', () => {
    const certificate = derOf(rootCertificates[0]!);
    for (let length = 0; length < certificate.length; length += 1) {
      expect(hasCheapKey(certificate.subarray(0, length))).toBe(false);
    }
    expect(hasCheapKey(Buffer.concat([certificate, Buffer.from([5, 0])]))).toBe(false);
    // An element of indefinite length, as BER has them.
    expect(hasCheapKey(Buffer.concat([Buffer.from([0x30, 0x80]), certificate, Buffer.alloc(2)]))).toBe(false);
    for (let at = 0; at < certificate.length; at += 1) {
      const changed = Buffer.from(certificate);
      changed[at] = 0xff;
      expect(typeof hasCheapKey(changed)).toBe('boolean');
    }
  });
});
