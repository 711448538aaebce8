import { createHmac, hash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Mode } from '../../kernel/ids.js';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const RANDOM_LENGTH = 32;
const CHECKSUM_LENGTH = 6;
const SECRET_PATTERN = /^sk_(live|test)_[0-9A-Za-z]{38}$/;

/** Creates a secret: prefix, 32 random base62 characters (190 bits), and 6 characters of checksum. */
export function newSecret(mode: Mode): string {
  const body = `sk_${mode}_${randomBase62(RANDOM_LENGTH)}`;
  return body + checksumOf(body);
}

/**
 * Whether a text has the form of a key and a correct checksum. Detects typing errors and random text without a database
 * read.
 */
export function isWellFormed(secret: string): boolean {
  if (!SECRET_PATTERN.test(secret)) return false;
  return checksumOf(secret.slice(0, -CHECKSUM_LENGTH)) === secret.slice(-CHECKSUM_LENGTH);
}

/** Returns the hash to store. 190 random bits cannot be guessed, so an HMAC is enough and no slow hash is needed. */
export function hashSecret(pepper: string, secret: string): string {
  return createHmac('sha256', pepper).update(secret).digest('hex');
}

/**
 * Creates a function that returns an id of a secret, for lookups in memory. Guesses of the secret cannot be checked against it. Node computes
 * it in a fraction of the time of an HMAC, which would be 3 % of a short read.
 */
export function createSecretIds(): (secret: string) => string {
  const salt = randomBytes(16).toString('hex');
  return (secret) => hash('sha256', salt + secret);
}

/** Returns a name of the pepper that does not reveal it. */
export function pepperIdOf(pepper: string): string {
  return createHmac('sha256', pepper).update('name of the pepper').digest('hex').slice(0, 8);
}

function checksumOf(body: string): string {
  let rest = crc32(body);
  let text = '';
  for (let i = 0; i < CHECKSUM_LENGTH; i++) {
    text = BASE62.charAt(rest % 62) + text;
    rest = Math.floor(rest / 62);
  }
  return text;
}

function randomBase62(length: number): string {
  let text = '';
  while (text.length < length) {
    for (const byte of randomBytes(length)) {
      // 248 is the largest multiple of 62 in a byte. Larger values would make the first characters more likely.
      if (byte < 248 && text.length < length) text += BASE62.charAt(byte % 62);
    }
  }
  return text;
}
