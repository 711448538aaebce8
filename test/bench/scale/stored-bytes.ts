import { mongo } from 'mongoose';
import type { Database } from '../../../src/database.js';

/** The collections that get documents for every call, also for one without a conversation. */
const PER_CALL = [
  'call_requests',
  'calls',
  'call_search',
  'carrier_bindings',
  'carrier_events',
  'ledger_entries',
  'webhook_attempts',
  'webhook_deliveries',
];
/** So many documents of a collection say how large one is. */
const SAMPLE = 300;

/** The documents that calls leave in the database, and their size as BSON, without indexes. */
export async function storedByCalls({ connection }: Database): Promise<{ documents: number; bytes: number }> {
  let [documents, bytes] = [0, 0];
  for (const name of PER_CALL) {
    const collection = connection.collection(name);
    const found = await collection.find().limit(SAMPLE).toArray();
    if (found.length === 0) continue;
    const count = found.length < SAMPLE ? found.length : await collection.countDocuments();
    const size = found.reduce((sum, document) => sum + mongo.BSON.calculateObjectSize(document), 0) / found.length;
    documents += count;
    bytes += count * size;
  }
  return { documents, bytes };
}
