import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { MongoDatabase } from '../../platform/mongo/connection.js';
import { driverCollection } from '../../platform/mongo/driver-collection.js';
import type { AccountDocument } from '../accounts/model.js';
import type { ApiKeyDocument } from '../api-keys/model.js';
import { createCredentialCache, type CredentialCache } from './credential-cache.js';
import type { CredentialEpochDocument } from './model.js';

const EPOCH_ID = 'credentials';
/** Attempts to set a new epoch. Repeating it is harmless. */
const ATTEMPTS = 3;
const PAUSE_MS = 50;

/** A key as it was read, and its account. Expiry and use are checked and counted with each request. */
export interface StoredCredential {
  key: ApiKeyDocument;
  account: AccountDocument;
}

/** The cached keys of a process, and the way to change what is cached. All code with the same connection shares it. */
export interface CachedCredentials {
  cache: CredentialCache<StoredCredential>;
  /**
   * Makes a change to keys or accounts that requests must observe. When this returns, the change applies in this
   * process, and within a second in all others.
   * @throws what `write` throws, also if the outcome of the write is unknown; else the database's error if the new epoch
   * could not be set: the change was made, but other processes may not know it yet, so repeat it
   */
  change<T>(write: () => Promise<T>): Promise<T>;
}

/**
 * Creates the credentials of a connection. Polls have their own connection, so that they never wait for other
 * operations.
 */
export function createCachedCredentials(
  database: Pick<MongoDatabase, 'connection' | 'control'>,
  model: { collection: { collectionName: string } },
): CachedCredentials {
  const epochs = driverCollection<CredentialEpochDocument>(database, model);
  const cache = createCredentialCache<StoredCredential>({
    async readEpoch() {
      const found = await database.control.findOne<CredentialEpochDocument>(epochs.collectionName, EPOCH_ID);
      return found?.epoch ?? null;
    },
  });

  async function setNewEpoch(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        await epochs.updateOne({ _id: EPOCH_ID }, { $set: { epoch: randomUUID() } }, { upsert: true });
        return;
      } catch (error) {
        if (attempt === ATTEMPTS) throw error;
        await sleep(PAUSE_MS);
      }
    }
  }

  return {
    cache,
    async change(write) {
      let isWritten = false;
      try {
        const result = await write();
        isWritten = true;
        return result;
      } finally {
        // Also after an error, because the write may have been made.
        cache.dropAll();
        const set = setNewEpoch();
        await (isWritten ? set : set.catch(() => undefined));
      }
    },
  };
}
