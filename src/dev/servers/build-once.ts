import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { takeLock } from '../processes/lock.js';
import type { Report } from '../processes/run-command.js';

const LOOK_AGAIN_MS = 500;
const SAY_AGAIN_MS = 5_000;

export interface Build {
  /** The folder with the result. It appears only when the build is complete. */
  folder: string;
  /** The name of what is built, for progress messages. */
  what: string;
  report: Report;
  signal?: AbortSignal | undefined;
  /** Builds into the given folder. If this fails, the folder is deleted. */
  build: (folder: string) => Promise<void>;
}

/**
 * Builds a cache folder unless it exists. If several processes need the folder, one of them builds and the others wait.
 */
export async function buildOnce({ folder, what, report, signal, build }: Build): Promise<string> {
  if (existsSync(folder)) return folder;
  await mkdir(dirname(folder), { recursive: true });
  let said = 0;
  let lock = await takeLock(`${folder}.lock`);
  while (!lock.held) {
    if (Date.now() - said > SAY_AGAIN_MS) {
      report(`waiting for process ${lock.byPid}, which is building ${what}`);
      said = Date.now();
    }
    await sleep(LOOK_AGAIN_MS, undefined, signal === undefined ? {} : { signal });
    lock = await takeLock(`${folder}.lock`);
  }
  let made: string | undefined;
  try {
    if (existsSync(folder)) return folder;
    made = await mkdtemp(join(dirname(folder), `.${basename(folder)}-`));
    await build(made);
    await rename(made, folder);
    return folder;
  } finally {
    if (made !== undefined) await rm(made, { recursive: true, force: true });
    await lock.release();
  }
}
