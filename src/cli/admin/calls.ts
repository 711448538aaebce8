import { createCallSearch } from '../../calls/search/call-search.js';
import type { AdminConnection } from './connect.js';
import type { Output } from '../output.js';

/** Makes calls from before the search for calls findable. */
export async function indexCalls({ database }: AdminConnection, out: Output) {
  await out.record('All calls can be found by search.', {
    indexed: await createCallSearch(database).storeAllMissing(),
  });
}
