import { z } from 'zod';
import { isWeakKey } from './secret-strength.js';

/** A key that encrypts stored secrets. Its id is stored with each secret, so that keys can be rotated. */
export interface EncryptionKey {
  id: string;
  /** 32 bytes, for AES-256. */
  key: Buffer;
}

/** Fixed key used outside production when ENCRYPTION_KEYS is absent. */
const DEVELOPMENT_KEY: EncryptionKey = { id: 'development', key: Buffer.alloc(32, 'development') };
const KEY_LIST = /^[A-Za-z0-9_-]{1,32}:[A-Za-z0-9+/]{43}=(,[A-Za-z0-9_-]{1,32}:[A-Za-z0-9+/]{43}=)*$/;
const REMEDY = 'create one with: echo "$(date +%F):$(openssl rand -base64 32)"';

/** Validates ENCRYPTION_KEYS: `<key id>:<32 bytes in base64>[,…]`, newest first. */
export const encryptionKeyList = z
  .string()
  .regex(
    KEY_LIST,
    `must be a comma-separated list of keys, each with an id and 32 bytes in base64: <id>:<base64>; ${REMEDY}`,
  )
  .refine((list) => {
    const keys = encryptionKeys(list);
    return new Set(keys.map(({ id }) => id)).size === keys.length;
  }, 'must not contain two keys with the same id');

/**
 * Returns the keys of ENCRYPTION_KEYS, newest first, or the fixed development key if it is absent.
 * @param list in the format that `encryptionKeyList` accepts
 */
export function encryptionKeys(list: string | undefined): EncryptionKey[] {
  if (list === undefined) return [DEVELOPMENT_KEY];
  return list.split(',').map((entry) => {
    const [id = '', key = ''] = entry.split(':');
    return { id, key: Buffer.from(key, 'base64') };
  });
}

/** Whether secrets are encrypted with the fixed development key, which is published. */
export function isDevelopmentKey(newest: EncryptionKey | undefined): boolean {
  return newest?.key.equals(DEVELOPMENT_KEY.key) === true;
}

/** Returns a sentence that says why production must not use these keys; undefined if they are acceptable. */
export function encryptionKeysFault(list: string | undefined, pepper = ''): string | undefined {
  if (list === undefined) return `ENCRYPTION_KEYS must be set in production; ${REMEDY}.`;
  if (list.includes('change-me')) return `ENCRYPTION_KEYS contains a placeholder; ${REMEDY}.`;
  return weakKeysFault('ENCRYPTION_KEYS', encryptionKeys(list), pepper);
}

/** Returns a sentence that says what is wrong with the keys of a variable; undefined if they are acceptable. */
export function weakKeysFault(variable: string, given: readonly EncryptionKey[], pepper = ''): string | undefined {
  const keys = given.map(({ key }) => key);
  if (given.some(isDevelopmentKey)) {
    return `${variable} contains the published development key; ${REMEDY}.`;
  }
  if (new Set(keys.map((key) => key.toString('hex'))).size < keys.length) {
    return `${variable} contains the same key twice; ${REMEDY}.`;
  }
  if (keys.some((key) => pepper.includes(key.toString('base64')) || key.equals(Buffer.from(pepper)))) {
    return `${variable} must differ from API_KEY_PEPPER; ${REMEDY}.`;
  }
  if (keys.some(isWeakKey)) return `${variable} contains a key that is not random; ${REMEDY}.`;
  return undefined;
}
