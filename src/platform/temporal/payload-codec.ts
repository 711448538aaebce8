import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { Payload, PayloadCodec } from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import type { PayloadKeys } from '../config/temporal/payload-keys.js';

const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Metadata of encrypted payloads, with the names of Temporal's examples. */
const ENCODING = 'encoding';
const ENCRYPTED = 'binary/encrypted';
const KEY_ID = 'encryption-key-id';
const { Payload: PayloadMessage } = temporal.api.common.v1;

/** Thrown for a payload that none of the keys decrypts. */
export class UnreadablePayloadError extends Error {
  override readonly name = 'UnreadablePayloadError';
}

/**
 * Creates the codec that encrypts what Temporal stores, with AES-256-GCM. It decrypts payloads of every key, and leaves those
 * that are not encrypted as they are.
 */
export function createPayloadCodec({ keys, newest }: PayloadKeys): PayloadCodec {
  const keyOf = new Map(keys.map(({ id, key }) => [id, key]));

  function encrypt(payload: Payload): Payload {
    if (newest === undefined) return payload;
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', newest.key, nonce);
    cipher.setAAD(contextOf(newest.id));
    const plain = PayloadMessage.encode(payload).finish();
    return {
      metadata: { [ENCODING]: Buffer.from(ENCRYPTED), [KEY_ID]: Buffer.from(newest.id) },
      data: Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]),
    };
  }

  function decrypt(payload: Payload): Payload {
    if (!isEncrypted(payload)) return payload;
    const id = textOf(payload, KEY_ID);
    const key = keyOf.get(id);
    if (key === undefined) {
      throw new UnreadablePayloadError(
        `Temporal has data that is encrypted with the key ${JSON.stringify(id.slice(0, 32))}, which TEMPORAL_PAYLOAD_KEYS does not contain. Add the key.`,
      );
    }
    const data = Buffer.from(payload.data ?? []);
    try {
      const decipher = createDecipheriv('aes-256-gcm', key, data.subarray(0, NONCE_BYTES), {
        authTagLength: TAG_BYTES,
      });
      decipher.setAAD(contextOf(id));
      decipher.setAuthTag(data.subarray(-TAG_BYTES));
      return PayloadMessage.decode(
        Buffer.concat([decipher.update(data.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]),
      );
    } catch (error) {
      throw new UnreadablePayloadError(
        `Temporal has data that the key ${JSON.stringify(id)} does not decrypt: it was altered, or the key is another one.`,
        { cause: error },
      );
    }
  }

  return {
    encode: async (payloads) => payloads.map(encrypt),
    decode: async (payloads) => payloads.map(decrypt),
  };
}

/** Whether the codec has encrypted a payload. */
export function isEncrypted(payload: Payload): boolean {
  return textOf(payload, ENCODING) === ENCRYPTED;
}

function textOf({ metadata }: Payload, name: string): string {
  return Buffer.from(metadata?.[name] ?? []).toString('utf8');
}

/** Data that the tag covers, so that the ciphertext cannot be used under another key id or for another purpose. */
function contextOf(keyId: string): Buffer {
  return Buffer.from(`temporal-payload:${keyId}`);
}
