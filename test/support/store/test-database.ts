import { randomUUID } from 'node:crypto';
import { ulid } from 'ulid';
import { createIndexes } from '../../../src/platform/mongo/indexes.js';
import { openDatabase, type Database } from '../../../src/database.js';

/** Creates a new database on the test server and builds its indexes. */
export async function openTestDatabase(name: string): Promise<Database> {
  const database = await openDatabase(`${process.env.TEST_MONGODB_URI}/${name}_${randomUUID().slice(0, 8)}`);
  await createIndexes(database);
  return database;
}

export function newCallId(): string {
  return `call_${ulid()}`;
}

/** Returns the id of a ledger account that no other test uses. */
export function newLedgerAccountId(): string {
  return `acct_${ulid()}~live#0`;
}
