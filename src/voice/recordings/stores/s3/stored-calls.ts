import { CALL_ID_PATTERN } from '../../../../kernel/ids.js';
import type { StoredCall } from '../port.js';
import type { ListedObject } from './bucket.js';

/**
 * Adds up the objects of each call. Keys come in order, so only the last call of a page may continue on the next one.
 * @param pages the objects below the prefix, page by page
 */
export async function* callsIn(
  pages: AsyncIterable<readonly ListedObject[]>,
  prefix: string,
): AsyncGenerator<StoredCall[]> {
  let last: StoredCall | undefined;
  for await (const objects of pages) {
    const calls = new Map<string, StoredCall>(last === undefined ? [] : [[last.callId, last]]);
    for (const { Key, bytes, storedAt = new Date() } of objects) {
      const callId = Key.slice(prefix.length).split('/', 1)[0] ?? '';
      if (!CALL_ID_PATTERN.test(callId)) continue;
      const known = calls.get(callId) ?? { callId, objects: 0, bytes: 0, newestAt: storedAt };
      const newestAt = storedAt > known.newestAt ? storedAt : known.newestAt;
      calls.set(callId, { callId, objects: known.objects + 1, bytes: known.bytes + bytes, newestAt });
    }
    const inOrder = [...calls.values()].toSorted((a, b) => (a.callId < b.callId ? -1 : 1));
    last = inOrder.pop();
    if (inOrder.length > 0) yield inOrder;
  }
  if (last !== undefined) yield [last];
}
