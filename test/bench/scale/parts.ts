import { readTreeCpu } from '../stack/cpu.js';
import type { BenchServers } from '../stack/servers.js';

/** The parts whose CPU time counts. Temporal includes PostgreSQL, if it has one. */
export type CpuPart = 'api' | 'worker' | 'mongodb' | 'temporal';
export const CPU_PARTS: readonly CpuPart[] = ['api', 'worker', 'mongodb', 'temporal'];

/** CPU time in ms that each part used in some seconds. */
export interface PartCpu extends Record<CpuPart, number> {
  all: number;
  /** The load itself: this process and the carrier stub. It is not a part, but uses the same cores. */
  load: number;
  seconds: number;
}

/** The processes of a service. */
export interface MeasuredService {
  api: { pid: number };
  workers: readonly { pid: number }[];
  carrier: { pid: number };
}

/** Reads the CPU time of every part, and returns a function for the difference to an earlier reading. */
export async function readParts(servers: BenchServers, service: MeasuredService) {
  const at = performance.now();
  const sum = async (of: readonly number[]) => (await Promise.all(of.map(readTreeCpu))).reduce((a, b) => a + b, 0);
  const { mongodb, temporal } = servers.pids;
  const cpu: Record<CpuPart, number> = {
    api: await sum([service.api.pid]),
    worker: await sum(service.workers.map(({ pid }) => pid)),
    mongodb: await sum([mongodb]),
    temporal: await sum([temporal, ...(servers.postgresqlPid === undefined ? [] : [servers.postgresqlPid])]),
  };
  const { user, system } = process.cpuUsage();
  const load = (user + system) / 1_000 + (await sum([service.carrier.pid]));
  return {
    cpu,
    load,
    at,
    since(earlier: { cpu: Record<CpuPart, number>; load: number; at: number }): PartCpu {
      const used = {} as PartCpu;
      for (const part of CPU_PARTS) used[part] = cpu[part] - earlier.cpu[part];
      used.all = CPU_PARTS.reduce((total, part) => total + used[part], 0);
      used.load = load - earlier.load;
      used.seconds = (at - earlier.at) / 1_000;
      return used;
    },
  };
}
