import { createHmac, timingSafeEqual } from 'node:crypto';
import { invalidParam } from '../../kernel/invalid-request.js';

/** The position where a list continues: a time and, among equal times, an id. */
export interface ListPosition {
  at: Date;
  id: string;
}

const TAG_BYTES = 16;

/**
 * Creates opaque list cursors. Each is signed together with the name of its list. So the service rejects a cursor that
 * was invented, altered, or issued for another account's list.
 * @param formerSecrets secrets whose cursors are accepted, too
 */
export function createCursors(secret: string, formerSecrets: readonly string[] = []) {
  const keyOf = (from: string) => createHmac('sha256', from).update('list cursors').digest();
  const key = keyOf(secret);
  const accepted = [key, ...formerSecrets.map(keyOf)];

  function tagOf(signing: Buffer, list: string, position: string): Buffer {
    return createHmac('sha256', signing).update(`${list}\n${position}`).digest().subarray(0, TAG_BYTES);
  }

  return {
    /** @param list names the list, such as a ledger account */
    write(list: string, { at, id }: ListPosition): string {
      const position = `${at.getTime()} ${id}`;
      return Buffer.concat([tagOf(key, list, position), Buffer.from(position)]).toString('base64url');
    },

    /** @throws ServiceError MISSING_PARAMS if the service did not issue the cursor for this list */
    read(list: string, cursor: string): ListPosition {
      const bytes = Buffer.from(cursor, 'base64url');
      const position = bytes.subarray(TAG_BYTES).toString('utf8');
      const tag = bytes.subarray(0, TAG_BYTES);
      const [, at, id] = /^(-?\d+) (.+)$/s.exec(position) ?? [];
      const isSigned = (signing: Buffer) => timingSafeEqual(tag, tagOf(signing, list, position));
      const ours = tag.length === TAG_BYTES && accepted.some(isSigned);
      // Accept only one spelling, because the decoder skips characters that are not base64url.
      if (!ours || at === undefined || id === undefined || bytes.toString('base64url') !== cursor) {
        throw invalidParam('cursor', 'cursor must be the next_cursor of the same list with the same filters.');
      }
      return { at: new Date(Number(at)), id };
    },
  };
}
