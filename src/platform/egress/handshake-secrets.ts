import { createDecipheriv, createHmac, type CipherGCMTypes } from 'node:crypto';

const TAG_BYTES = 16;
const NONCE_BYTES = 12;

interface Suite {
  cipher: CipherGCMTypes | 'chacha20-poly1305';
  keyBytes: number;
  hash: 'sha256' | 'sha384';
}

/** The cipher suites of TLS 1.3 that Node.js offers (RFC 8446, B.4). */
const SUITES: Readonly<Record<number, Suite>> = {
  0x1301: { cipher: 'aes-128-gcm', keyBytes: 16, hash: 'sha256' },
  0x1302: { cipher: 'aes-256-gcm', keyBytes: 32, hash: 'sha384' },
  0x1303: { cipher: 'chacha20-poly1305', keyBytes: 32, hash: 'sha256' },
};

/**
 * Decrypts the records that a server sends in the handshake of TLS 1.3.
 * @param secret the server's handshake traffic secret, as TLS reports it in its key log
 * @returns a function that takes the records in order, with their headers; undefined if the suite is unknown
 * @throws Error from that function if a record was not encrypted with this secret
 */
export function createHandshakeDecryption(suite: number, secret: Buffer): ((record: Buffer) => Buffer) | undefined {
  const known = SUITES[suite];
  if (known === undefined) return undefined;
  const { cipher, keyBytes, hash } = known;
  const key = expand(hash, secret, 'key', keyBytes);
  const iv = expand(hash, secret, 'iv', NONCE_BYTES);
  let sequence = 0;

  return (record) => {
    const nonce = Buffer.from(iv);
    nonce.writeUInt32BE((nonce.readUInt32BE(NONCE_BYTES - 4) ^ sequence) >>> 0, NONCE_BYTES - 4);
    sequence += 1;
    const decipher = createDecipheriv(cipher as CipherGCMTypes, key, nonce, { authTagLength: TAG_BYTES });
    decipher.setAAD(record.subarray(0, 5));
    decipher.setAuthTag(record.subarray(-TAG_BYTES));
    return Buffer.concat([decipher.update(record.subarray(5, -TAG_BYTES)), decipher.final()]);
  };
}

/** HKDF-Expand-Label (RFC 8446, 7.1) for results that are not longer than the hash. */
function expand(hash: Suite['hash'], secret: Buffer, label: string, length: number): Buffer {
  const name = Buffer.from(`tls13 ${label}`);
  const info = Buffer.concat([Buffer.from([0, length, name.length]), name, Buffer.from([0])]);
  return createHmac(hash, secret)
    .update(info)
    .update(Buffer.from([1]))
    .digest()
    .subarray(0, length);
}
