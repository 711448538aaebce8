import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { MongoDatabase } from '../../platform/mongo/connection.js';
import { driverCollection } from '../../platform/mongo/driver-collection.js';
import type { AccountDocument } from '../accounts/model.js';
import type { ApiKeyDocument } from '../api-keys/model.js';
import { createSecretIds } from '../api-keys/api-key-secret.js';
import { createCredentialCache, type CredentialCache } from './credential-cache.js';
import type { CredentialEpochDocument } from './model.js';

const EPOCH_ID = 'credentials';
/** Attempts to set a new epoch. Repeating it is harmless. */
const ATTEMPTS = 3;
const PAUSE_MS = 50;
/** Repeats of changes are reported to other processes at most once in this time. */
const REPEATS_WITHIN_MS = 1_000;

/** A key as it was read, and its account. Expiry and use are checked and counted with each request. */
export interface StoredCredential {
  key: ApiKeyDocument;
  account: AccountDocument;
}

/** The cached keys of a process, and the way to change what is cached. All code with the same connection shares it. */
export interface CachedCredentials {
  cache: CredentialCache<StoredCredential>;
  /** Returns the id of a secret in the cache. */
  idOf: (secret: string) => string;
  /**
   * Makes a change to keys or accounts that requests must observe. When this returns, the change applies in this
   * process, and within a second in all others.
   * @param isRepeat whether nothing was written, because the data is as wanted already. Other processes may not know that
   *   yet. All repeats of a second are reported to them at once, so that a client that repeats itself without end does not
   *   make all processes read their keys all the time
   * @throws what `write` throws, also if the outcome of the write is unknown; else the database's error if the new epoch
   * could not be set: the change was made, but other processes may not know it yet, so repeat it
   */
  change<T>(write: () => Promise<T>, isRepeat?: (result: T) => boolean): Promise<T>;
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

  function reportChange(): Promise<void> {
    cache.dropAll();
    return setNewEpoch();
  }

  const reportRepeat = oncePer(REPEATS_WITHIN_MS, reportChange);

  return {
    cache,
    idOf: createSecretIds(),
    async change(write, isRepeat = () => false) {
      let result;
      try {
        result = await write();
      } catch (error) {
        // The write may have been made.
        await reportChange().catch(() => undefined);
        throw error;
      }
      await (isRepeat(result) ? reportRepeat() : reportChange());
      return result;
    },
  };
}

/** Returns a function that runs `work` at most once per `ms`. Requests while it waits or before it begins share a run. */
function oncePer(ms: number, work: () => Promise<void>): () => Promise<void> {
  let next: Promise<void> | undefined;
  let lastAt = -Infinity;
  return () =>
    (next ??= (async () => {
      await sleep(Math.max(0, lastAt + ms - performance.now()));
      // A request from here on needs another run: a process may have read its keys again before that request.
      next = undefined;
      lastAt = performance.now();
      await work();
    })());
}
