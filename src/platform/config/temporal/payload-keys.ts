import { z } from 'zod';
import { encryptionKeyList, encryptionKeys, type EncryptionKey } from '../encryption.js';

/** Keys of what Temporal stores. */
export interface PayloadKeys {
  /** Keys that decrypt. */
  keys: readonly EncryptionKey[];
  /** The key that encrypts; absent: new payloads are not encrypted. */
  newest?: EncryptionKey;
}

/** In front of the keys: processes can decrypt, but do not encrypt. */
const PLAIN = /^plain,/;

/** Validates TEMPORAL_PAYLOAD_KEYS: like ENCRYPTION_KEYS, or with `plain,` in front. */
export const payloadKeyList = z.string().transform((list, context) => {
  const parsed = encryptionKeyList.safeParse(list.replace(PLAIN, ''));
  for (const { message } of parsed.error?.issues ?? []) context.addIssue({ code: 'custom', message });
  return list;
});

/** @param list in the format that `payloadKeyList` accepts */
export function payloadKeys(list: string | undefined): PayloadKeys {
  if (list === undefined) return { keys: [] };
  const keys = encryptionKeys(list.replace(PLAIN, ''));
  const [newest] = keys;
  return PLAIN.test(list) || newest === undefined ? { keys } : { keys, newest };
}
