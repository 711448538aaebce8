import { readFileSync } from 'node:fs';
import { link, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { dirname } from 'node:path';
import { randomUUID } from 'node:crypto';

const LOOK_AGAIN_MS = 10;

export type LockAttempt = { held: true; release: () => Promise<void> } | { held: false; byPid: number };

/**
 * Takes a lock file for this process, or returns the pid of the process that holds it. A lock whose process no longer
 * runs counts as free, because a killed launcher must not block the next start.
 */
export async function takeLock(file: string): Promise<LockAttempt> {
  await mkdir(dirname(file), { recursive: true });
  const own = `${file}.${randomUUID()}`;
  await writeFile(own, identityOf(process.pid), { mode: 0o600 });
  try {
    for (;;) {
      try {
        // A hard link appears together with its content, so no process ever reads a lock without a pid.
        await link(own, file);
        return { held: true, release: () => release(file) };
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      }
      const found = await readIfThere(file);
      if (found === undefined) continue;
      if (isAlive(found)) return { held: false, byPid: Number.parseInt(found, 10) };
      if (await replaceStale({ file, stale: found, own })) return { held: true, release: () => release(file) };
    }
  } finally {
    await rm(own, { force: true });
  }
}

async function release(file: string): Promise<void> {
  if ((await readIfThere(file)) === identityOf(process.pid)) await rm(file, { force: true });
}

/**
 * Puts our lock in the place of a stale one. A second lock lets only one process at a time do this: otherwise a slow process
 * could replace the lock of a faster one, which it still believes to be stale.
 * @returns false if the caller must look again, because another process was faster or is about to be
 */
async function replaceStale(p: { file: string; stale: string; own: string }): Promise<boolean> {
  const guard = await takeLock(`${p.file}.takeover`);
  if (!guard.held) {
    await sleep(LOOK_AGAIN_MS);
    return false;
  }
  try {
    if ((await readIfThere(p.file)) !== p.stale) return false;
    await rename(p.own, p.file);
    return true;
  } finally {
    await guard.release();
  }
}

async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function isAlive(identity: string): boolean {
  const pid = Number.parseInt(identity, 10);
  if (!(pid > 0)) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
  }
  return identityOf(pid) === identity;
}

/** Identifies a process by pid and, where the system provides it, start time, because pids are reused. */
function identityOf(pid: number): string {
  return `${pid} ${startTimeOf(pid)}\n`;
}

function startTimeOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    // Systems other than Linux have no /proc, so only the pid identifies the process.
    return '';
  }
}
