import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { EncryptionKey } from '../config/encryption.js';

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Encrypts secrets that must be decrypted later, with AES-256-GCM. */
export interface SecretBox {
  /**
   * Encrypts with the newest key.
   * @param context what the secret belongs to, for example `tool-header:<account>:<agent>`. It can be decrypted only
   * with the same context, so an encrypted secret cannot be moved to another record.
   * @returns `<key id>.<nonce, ciphertext and tag in base64url>`
   */
  seal(context: string, plaintext: string): string;
  /**
   * Decrypts a secret that was encrypted with any of the keys.
   * @throws Error if the secret's key is not configured, the context differs, or the secret was altered
   */
  open(context: string, sealed: string): string;
}

/** Returns the id of the key that encrypted a secret. */
export function keyIdOf(sealed: string): string {
  return sealed.slice(0, Math.max(0, sealed.indexOf('.')));
}

/** @param keys `config.encryptionKeys`, newest first: the first one encrypts, all decrypt */
export function createSecretBox(keys: readonly EncryptionKey[]): SecretBox {
  const [newest] = keys;
  if (newest === undefined) throw new Error('createSecretBox needs at least one key.');
  const keyOf = new Map(keys.map(({ id, key }) => [id, key]));
  return {
    seal(context, plaintext) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', newest.key, nonce);
      cipher.setAAD(Buffer.from(context));
      const sealed = Buffer.concat([nonce, cipher.update(plaintext, 'utf8'), cipher.final(), cipher.getAuthTag()]);
      return `${newest.id}.${sealed.toString('base64url')}`;
    },

    open(context, sealed) {
      const id = keyIdOf(sealed);
      const key = keyOf.get(id);
      if (key === undefined) {
        throw new Error(
          `A stored secret is encrypted with the key ${JSON.stringify(id.slice(0, 32))}, which ENCRYPTION_KEYS does not contain. Add the key again.`,
        );
      }
      const bytes = Buffer.from(sealed.slice(id.length + 1), 'base64url');
      if (bytes.length < NONCE_BYTES + TAG_BYTES) throw new Error('The encrypted secret is truncated.');
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES), {
        authTagLength: TAG_BYTES,
      });
      decipher.setAAD(Buffer.from(context));
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
      const ciphertext = bytes.subarray(NONCE_BYTES, -TAG_BYTES);
      return Buffer.concat([decipher.update(ciphertext), decipher.final()]).toString('utf8');
    },
  };
}
