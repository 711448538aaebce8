import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { mongo } from 'mongoose';
import { driverCollection } from './driver-collection.js';
import type { MigrationDocument } from './migration-model.js';
import { optimisticUpdate } from './optimistic-update.js';
import type { PlatformDatabase } from './platform-database.js';
import { createServerClock } from './server-clock.js';

/**
 * A change of stored data or indexes. It may be interrupted and run again, also by two processes at once, and releases
 * may run at the same time.
 */
export interface Migration {
  /** Migrations run in the order of their numbers. A number is never used again. */
  number: number;
  name: string;
  run: () => Promise<void>;
}

const LOCK = 'lock';
/** How long a process that has died keeps others from migrating. */
const LOCKED_MS = 60_000;
const RETRY_MS = 1_000;

interface Options {
  lockedMs?: number;
  retryMs?: number;
  /** Called once if another process is running the migrations. */
  onWait?: () => void;
}

/**
 * Runs the migrations that this database has not had, in order. If another process is running them, waits for it.
 * @returns names of the migrations that this process has run
 * @throws the error of a migration; those before it are done
 */
export async function migrate(
  database: PlatformDatabase,
  migrations: readonly Migration[],
  { lockedMs = LOCKED_MS, retryMs = RETRY_MS, onWait }: Options = {},
): Promise<string[]> {
  const documents = driverCollection<MigrationDocument>(database, database.migrations);
  const missing = async () => {
    const done = new Set((await documents.find({}, { projection: { _id: 1 } }).toArray()).map(({ _id }) => _id));
    return migrations.filter(({ number }) => !done.has(String(number)));
  };
  if ((await missing()).length === 0) return [];
  const lock = createLock(documents, createServerClock(database), lockedMs);
  for (let tries = 0; !(await lock.acquire()); tries += 1) {
    if (tries === 0) onWait?.();
    await sleep(retryMs);
  }
  // A migration may take hours. If renewing fails, another process may run the same migration; both must bear that.
  let renewing: Promise<unknown> = Promise.resolve();
  const renewal = setInterval(() => (renewing = lock.acquire().catch(() => undefined)), lockedMs / 4);
  try {
    const due = await missing();
    for (const { number, name, run } of due) {
      await run();
      await documents.updateOne({ _id: String(number) }, { $set: { name, finishedAt: new Date() } }, { upsert: true });
    }
    return due.map(({ name }) => name);
  } finally {
    clearInterval(renewal);
    // A renewal that is under way would take the lock again.
    await renewing;
    // If this fails, the lock ends by itself; the error of a migration matters more.
    await lock.release().catch(() => undefined);
  }
}

/** A lock of one process at a time, which ends by itself if the process dies. */
function createLock(documents: mongo.Collection<MigrationDocument>, clock: () => Promise<number>, lockedMs: number) {
  const owner = randomUUID();
  return {
    /** Takes the lock, or renews it. @returns false if another process has it */
    async acquire(): Promise<boolean> {
      const nowMs = await clock();
      const lockedUntil = new Date(nowMs + lockedMs);
      return optimisticUpdate<MigrationDocument, boolean>(
        documents,
        LOCK,
        (found) => {
          if (found === null) return { answer: true, insert: { _id: LOCK, owner, lockedUntil } };
          const isFree = found.owner === owner || (found.lockedUntil?.getTime() ?? 0) <= nowMs;
          if (!isFree) return { answer: false };
          const when = { owner: found.owner, lockedUntil: found.lockedUntil };
          return { answer: true, when, update: { $set: { owner, lockedUntil } } };
        },
        { name: 'migration lock' },
      );
    },
    async release(): Promise<void> {
      await documents.updateOne({ _id: LOCK, owner }, { $set: { lockedUntil: new Date(0) } });
    },
  };
}
