import { readdir, readFile } from 'node:fs/promises';

/** The unit of CPU times in /proc, on every Linux that Node.js supports. */
const TICKS_PER_SECOND = 100;
/** The positions of user and system time after the command, which is in parentheses and may itself contain some. */
const USER_FIELD = 11;
const SYSTEM_FIELD = 12;
const PARENT_FIELD = 1;

const fieldsOf = (stat: string) => stat.slice(stat.lastIndexOf(')') + 2).split(' ');

/** Returns the CPU time in ms from the text of /proc/<pid>/stat. */
export function cpuMsOf(stat: string): number {
  const fields = fieldsOf(stat);
  const ticks = Number(fields[USER_FIELD]) + Number(fields[SYSTEM_FIELD]);
  if (!Number.isFinite(ticks)) throw new Error('unexpected format of /proc/<pid>/stat');
  return (ticks * 1_000) / TICKS_PER_SECOND;
}

/** Returns the resident memory in bytes from the text of /proc/<pid>/status. */
export function residentBytesOf(status: string): number {
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(status) ?? [];
  if (kilobytes === undefined) throw new Error('unexpected format of /proc/<pid>/status');
  return Number(kilobytes) * 1_024;
}

/** Reads the CPU time of each process, ms. */
export async function readCpu<Role extends string>(pids: Record<Role, number>): Promise<Record<Role, number>> {
  const times = {} as Record<Role, number>;
  for (const role of Object.keys(pids) as Role[]) {
    times[role] = cpuMsOf(await readFile(`/proc/${pids[role]}/stat`, 'utf8'));
  }
  return times;
}

export async function readResidentBytes(pid: number): Promise<number> {
  return residentBytesOf(await readFile(`/proc/${pid}/status`, 'utf8'));
}

/** Reads the CPU time of a process and of all processes that it has started and that still run, ms. */
export async function readTreeCpu(root: number): Promise<number> {
  const pids = (await readdir('/proc')).map(Number).filter(Number.isInteger);
  const stats = await Promise.all(
    // A process that has just ended has no file.
    pids.map(async (pid) => ({ pid, stat: await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '') })),
  );
  return treeCpuMs(root, new Map(stats.filter(({ stat }) => stat !== '').map(({ pid, stat }) => [pid, stat])));
}

/** Adds up the CPU time of a process and its descendants, from the texts of /proc/<pid>/stat. */
export function treeCpuMs(root: number, stats: ReadonlyMap<number, string>): number {
  const children = new Map<number, number[]>();
  for (const [pid, stat] of stats) {
    const parent = Number(fieldsOf(stat)[PARENT_FIELD]);
    children.set(parent, [...(children.get(parent) ?? []), pid]);
  }
  const sum = (pid: number): number =>
    cpuMsOf(stats.get(pid) ?? '') + (children.get(pid) ?? []).reduce((total, child) => total + sum(child), 0);
  return sum(root);
}
