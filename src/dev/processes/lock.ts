import { readFileSync } from 'node:fs';
import { link, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { randomUUID } from 'node:crypto';

export type LockAttempt = { held: true; release: () => Promise<void> } | { held: false; byPid: number };

/**
 * Takes a lock file for this process, or tells who has it. A lock whose process is gone counts as free: a killed launcher
 * must not block the next start.
 */
export async function takeLock(file: string): Promise<LockAttempt> {
  await mkdir(dirname(file), { recursive: true });
  const own = `${file}.${randomUUID()}`;
  await writeFile(own, identityOf(process.pid), { mode: 0o600 });
  try {
    for (;;) {
      try {
        // A link appears with its content or not at all, so nobody ever reads a lock without an owner in it.
        await link(own, file);
        return { held: true, release: () => release(file) };
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      }
      const found = await readIfThere(file);
      if (found === undefined) continue;
      if (isAlive(found)) return { held: false, byPid: Number.parseInt(found, 10) };
      await discardStale(file, found);
    }
  } finally {
    await rm(own, { force: true });
  }
}

async function release(file: string): Promise<void> {
  if ((await readIfThere(file)) === identityOf(process.pid)) await rm(file, { force: true });
}

/** Moves the stale lock aside; if another process was faster and its fresh lock was moved instead, puts that back. */
async function discardStale(file: string, stale: string): Promise<void> {
  const aside = `${file}.${randomUUID()}`;
  try {
    await rename(file, aside);
    if ((await readFile(aside, 'utf8')) !== stale) await link(aside, file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT' && code !== 'EEXIST') throw error;
  } finally {
    await rm(aside, { force: true });
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

/** Pid and, where the system tells it, start time: pids come round again, above all in containers. */
function identityOf(pid: number): string {
  return `${pid} ${startTimeOf(pid)}\n`;
}

function startTimeOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    // No such file outside Linux; the pid alone must do there.
    return '';
  }
}
