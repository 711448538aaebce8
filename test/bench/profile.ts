import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { packageRoot } from '../../src/dev/servers/cache-folder.js';
import { selfTimes, timesByPackage, type SelfTime } from './report/profile.js';
import { runCalls } from './rows/calls.js';
import { requestsPerSecond } from './rows/get.js';
import { readCpu } from './stack/cpu.js';
import { openInspector, type CpuProfile } from './stack/inspector.js';
import type { NodeProcess } from './stack/node-process.js';
import type { BenchServers } from './stack/servers.js';
import { startBenchService } from './stack/service.js';

const CALLS = 160;
const WARM_UP_CALLS = 40;
const GET_MS = 8_000;
const WARM_UP_MS = 3_000;
const SHOWN = 5;
/** Threads that do less than this share of the process's work are not printed. */
const LEAST_MS = 20;

/** Takes CPU profiles of api and worker during busy calls, and of the api during reads, and prints the largest costs. */
export async function profileRoles(p: { servers: BenchServers; folder: string; say: (line: string) => void }) {
  const { servers, folder, say } = p;
  await mkdir(folder, { recursive: true });
  const service = await startBenchService(servers, { inspect: true });
  const lines: string[] = [];
  try {
    const callId = await service.firstCall();
    await runCalls(service, WARM_UP_CALLS);
    const { api, worker } = service.roles;
    say(`profile: ${CALLS} busy calls`);
    const both = { api, worker };
    lines.push(...(await profile(folder, 'busy call', both, () => runCalls(service, CALLS))));
    const read = () => service.request('GET', `/outbound_call?call_id=${callId}`);
    await requestsPerSecond(read, WARM_UP_MS);
    say('profile: GET');
    lines.push(...(await profile(folder, 'GET', { api }, () => requestsPerSecond(read, GET_MS))));
  } finally {
    await service.stop();
  }
  return lines;
}

/** Profiles processes during the same work. Writes a file for each thread, and returns the largest costs as lines. */
async function profile(
  folder: string,
  work: string,
  roles: Record<string, NodeProcess>,
  act: () => Promise<unknown>,
): Promise<string[]> {
  const names = Object.keys(roles);
  const inspectors = await Promise.all(Object.values(roles).map(({ inspector }) => openInspector(inspector)));
  const pids = Object.fromEntries(Object.entries(roles).map(([name, { pid }]) => [name, pid]));
  const before = await readCpu(pids);
  // Nests the profiles, so that all of them cover the same work.
  const taken: { thread: string; profile: CpuProfile }[][] = [];
  const run = inspectors.reduceRight<() => Promise<unknown>>(
    (inner, inspector, index) => async () => {
      taken[index] = await inspector.profile(inner);
    },
    act,
  );
  await run();
  const after = await readCpu(pids);
  await Promise.all(inspectors.map((inspector) => inspector.close()));
  const lines: string[] = [];
  for (const [index, role] of names.entries()) {
    const cpuMs = (after[role] ?? 0) - (before[role] ?? 0);
    lines.push(`${work}: ${role}: ${Math.round(cpuMs)} ms of CPU time, including native code and other threads`);
    for (const { thread, profile: taken_ } of taken[index] ?? []) {
      const file = `${work}-${role}-${thread}.cpuprofile`.replaceAll(' ', '-');
      await writeFile(join(folder, file), JSON.stringify(taken_));
      const times = selfTimes(taken_, packageRoot());
      const busyMs = times.reduce((sum, { ms }) => sum + ms, 0);
      if (busyMs < LEAST_MS) continue;
      lines.push(`  thread ${thread}: ${Math.round(busyMs)} ms in which it was not idle (${file})`);
      lines.push(...times.slice(0, SHOWN).map((time) => `    ${describe(time)}`));
      lines.push(
        `    by package: ${timesByPackage(times)
          .slice(0, SHOWN + 3)
          .map(describe)
          .join(', ')}`,
      );
    }
  }
  return lines;
}

function describe({ name, share }: SelfTime): string {
  return `${(share * 100).toFixed(1)} % ${name}`;
}
