import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { createTrustAnchors, loadTrustAnchors } from '../../src/platform/egress/certificates/anchors.js';
import { readCertificate } from '../../src/platform/egress/certificates/certificate.js';
import { findChainFault } from '../../src/platform/egress/certificates/chain-check.js';
import { isCheapKey } from '../../src/platform/egress/certificates/cheap-key.js';
import {
  createCertificate,
  createCostlyChain,
  createHiddenKey,
  createManyNames,
  unusedExtension,
  wideNameOf,
} from '../security/support/costly-certificates.js';

const derOf = (pem: string) => new X509Certificate(pem).raw;
const bytesOf = (pem: string) => Buffer.from(pem.replace(/-----[^-]+-----|\s/g, ''), 'base64');
const explicitCurve = readFileSync(join(__dirname, '../security/support/explicit-curve-certificate.pem'), 'utf8');
const hasCheapKey = (certificate: Buffer) => isCheapKey(readCertificate(certificate).key);

const root = createCertificate({ name: 'root', isAuthority: true });
const middle = createCertificate({ name: 'middle', issuer: root, isAuthority: true });
const leaf = createCertificate({ name: 'leaf', issuer: middle });
const forgotten = createCertificate({ name: 'forgotten', isAuthority: true });
const anchors = createTrustAnchors([root.cert]);
const faultOf = (...chain: readonly { bytes: Buffer }[]) =>
  findChainFault(
    chain.map(({ bytes }) => bytes),
    anchors,
  );

const UNTRUSTED = 'No trusted authority signed the certificate.';
const FOREIGN = 'The server sent certificates that no trusted authority signed.';
const UNREADABLE = 'A certificate of the server is not readable.';

describe('the check of a server’s chain of certificates', () => {
  it('accepts chains to a trusted authority, in any order and with its own certificate', () => {
    expect(faultOf(leaf, middle)).toBeUndefined();
    expect(faultOf(leaf, root, middle)).toBeUndefined();
    expect(faultOf(createCertificate({ name: 'direct', issuer: root }))).toBeUndefined();
    expect(faultOf(root)).toBeUndefined();
  });

  it('accepts authorities that write their names in other ways', () => {
    const spaced = createTrustAnchors([createCertificate({ name: 'Our  Root', isAuthority: true }).cert]);
    expect(spaced.keysOf(readCertificate(createCertificate({ name: 'our root' }).bytes).subject)).toHaveLength(1);
    expect(faultOf(createCertificate({ name: 'wide', issuer: root, issuerName: wideNameOf('Root') }))).toBeUndefined();
    const other = createTrustAnchors([root.cert.replaceAll('CERTIFICATE', 'X509 CERTIFICATE')]);
    expect(findChainFault([leaf.bytes, middle.bytes], other)).toBeUndefined();
  });

  it('accepts two small certificates of others, such as one by which a forgotten authority signed a trusted one', () => {
    const crossSigned = createCertificate({ name: 'root', issuer: forgotten, isAuthority: true });
    expect(faultOf(leaf, middle, crossSigned, forgotten)).toBeUndefined();
    expect(faultOf(leaf, middle, crossSigned, forgotten, forgotten)).toBe(FOREIGN);
  });

  it('rejects others’ certificates that are costly to decode, even if they are small', () => {
    expect(faultOf(leaf, middle, createManyNames())).toBe(FOREIGN);
    const small = createManyNames({ parts: 90, points: 100 });
    expect(small.bytes.length).toBeLessThan(2_048);
    expect(faultOf(leaf, small, middle)).toBe(FOREIGN);
    expect(faultOf(leaf, createManyNames({ parts: 90, points: 0 }), middle)).toBeUndefined();
  });

  it('rejects what OpenSSL reads in another way', () => {
    const { key } = readCertificate(middle.bytes);
    for (const hidden of [createHiddenKey(key), createManyNames({ parts: 1, points: 1, hidesExtensions: true })]) {
      // OpenSSL accepts it, so nothing else would stop it.
      expect(new X509Certificate(hidden.bytes).raw).toEqual(hidden.bytes);
      expect(faultOf(leaf, middle, hidden)).toBe(UNREADABLE);
    }
    expect(new X509Certificate(createHiddenKey(key).bytes).publicKey.export({ type: 'spki', format: 'der' })).toEqual(
      key,
    );
  });

  it('rejects a curve with custom parameters, also where no key is expected', () => {
    const parameters = bytesOf(explicitCurve);
    const extension = createCertificate({ name: 'x', extensions: [unusedExtension(parameters)] });
    expect(faultOf(leaf, middle, extension)).toBe('A certificate of the server has an unusual key.');
    expect(
      faultOf(leaf, middle, createCertificate({ name: 'x', extensions: [unusedExtension(Buffer.alloc(64))] })),
    ).toBeUndefined();
  });

  it('rejects servers that no trusted authority knows', () => {
    expect(faultOf()).toBe(UNTRUSTED);
    expect(faultOf(forgotten)).toBe(UNTRUSTED);
    expect(faultOf(leaf)).toBe(UNTRUSTED);
    expect(faultOf(createManyNames(), middle)).toBe(UNTRUSTED);
  });

  it('rejects what a server signed itself, with the name of an authority or as one', () => {
    const forged = createCertificate({ name: 'forged', issuer: { name: 'root', privateKey: leaf.privateKey } });
    expect(faultOf(forged)).toBe(UNTRUSTED);
    // The key of a server signs for no others.
    expect(faultOf(createCertificate({ name: 'other', issuer: leaf }), leaf, middle)).toBe(UNTRUSTED);
    const copy = createCertificate({ name: 'root', isAuthority: true });
    expect(faultOf(createCertificate({ name: 'other', issuer: copy }), copy)).toBe(UNTRUSTED);
  });

  it('rejects more certificates than a chain needs, and what it cannot read', () => {
    expect(faultOf(leaf, ...Array.from({ length: 10 }, () => middle))).toBe('The server sent too many certificates.');
    expect(faultOf(leaf, middle, { bytes: Buffer.from('x') })).toBe(UNREADABLE);
  });

  it('rejects changed certificates', () => {
    for (let at = 0; at < leaf.bytes.length; at += 1) {
      const changed = Buffer.from(leaf.bytes);
      changed[at]! ^= 0x01;
      expect(faultOf({ bytes: changed }, middle)).toEqual(expect.any(String));
    }
  });

  it('knows the authorities that Node.js trusts by their signatures', () => {
    expect(rootCertificates.length).toBeGreaterThan(100);
    const trusted = loadTrustAnchors();
    expect(rootCertificates.filter((pem) => findChainFault([derOf(pem)], trusted) !== undefined)).toEqual([]);
    for (const pem of rootCertificates) {
      const { subject, key } = readCertificate(derOf(pem));
      expect(trusted.keysOf(subject).some((each) => each.equals(key))).toBe(true);
    }
  });
});

describe('the check of a certificate’s key', () => {
  it('rejects RSA keys with long exponents, and curves with custom parameters', () => {
    expect(hasCheapKey(bytesOf(createCostlyChain(1).cert))).toBe(false);
    expect(hasCheapKey(bytesOf(explicitCurve))).toBe(false);
  });

  it('rejects what is cut off, changed or followed by more', () => {
    const certificate = derOf(rootCertificates[0]!);
    const faultOfBytes = (bytes: Buffer) => findChainFault([bytes], anchors);
    for (let length = 0; length < certificate.length; length += 1) {
      expect(faultOfBytes(certificate.subarray(0, length))).toBe(UNREADABLE);
    }
    expect(faultOfBytes(Buffer.concat([certificate, Buffer.from([5, 0])]))).toBe(UNREADABLE);
    // An element of indefinite length, as BER has them.
    expect(faultOfBytes(Buffer.concat([Buffer.from([0x30, 0x80]), certificate, Buffer.alloc(2)]))).toBe(UNREADABLE);
    for (let at = 0; at < certificate.length; at += 1) {
      const changed = Buffer.from(certificate);
      changed[at] = 0xff;
      expect(typeof faultOfBytes(changed)).toBe('string');
    }
  });
});
