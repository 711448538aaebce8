import { chmod, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { takeLock } from './processes/lock.js';

/** All that a stack leaves in its data folder; nothing else in it is ever removed. */
const DATABASES = ['mongodb', 'temporal.db', 'temporal.db-shm', 'temporal.db-wal', 'temporal.db-journal'];
const FILES = ['secrets.json', 'runtime.json'];

/**
 * Makes the folder when it is missing and takes it for this process.
 * @returns what gives it back
 * @throws Error when a stack runs on it
 */
export async function lockDataFolder(folder: string): Promise<() => Promise<void>> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  // A folder from before may be open to others: it holds keys and what was said in calls.
  await chmod(folder, 0o700);
  const lock = await takeLock(join(folder, 'launcher.lock'));
  if (!lock.held) {
    throw new Error(
      `Callwright runs on ${folder} already, as process ${lock.byPid}. Stop it, or set CALLWRIGHT_DATA_DIR to another folder.`,
    );
  }
  return lock.release;
}

/** Removes the state of a stack that does not run. */
export async function clearDataFolder(folder: string): Promise<void> {
  for (const name of [...DATABASES, ...FILES]) await rm(join(folder, name), { recursive: true, force: true });
}
