import { parseArgs } from 'node:util';

export interface Options {
  /** The number of calls that are placed at least; more if the restarts take longer. */
  calls: number;
  /** Calls and requests are placed this often. */
  everyMs: number;
  /** Uses the servers of `npm start` and a small proxy in place of Temporal Server on PostgreSQL and Caddy. */
  embedded: boolean;
  /** Whether a Prometheus from PATH scrapes the roles, and its targets, rules and dashboards are checked. */
  prometheus: boolean;
  /** Whether secrets are rotated while calls are placed, instead of a deployment. */
  rotate: boolean;
  /** Whether each process has its own host, and hosts are cut off while calls are placed, instead of a deployment. */
  hosts: boolean;
  /** The process that made the hosts, if this one runs among them. */
  owner: number | undefined;
  /** The file to which the log of all roles is written at the end; absent: it is not kept. */
  logs: string | undefined;
}

const DEFAULT_CALLS = 200;
const SHORT_CALLS = 20;

/** @throws TypeError for an unknown option or a wrong number */
export function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      calls: { type: 'string' },
      short: { type: 'boolean', default: false },
      logs: { type: 'string' },
      prometheus: { type: 'boolean', default: false },
      rotate: { type: 'boolean', default: false },
      hosts: { type: 'boolean', default: false },
      owner: { type: 'string' },
    },
  });
  const calls = Number(values.calls ?? (values.short ? SHORT_CALLS : DEFAULT_CALLS));
  if (!Number.isInteger(calls) || calls < 1) throw new TypeError('--calls must be a whole number of calls.');
  const { logs, prometheus, rotate, short, hosts } = values;
  if (hosts && (prometheus || rotate)) throw new TypeError('--hosts goes with neither --prometheus nor --rotate.');
  const owner = values.owner === undefined ? undefined : Number(values.owner);
  return { calls, everyMs: everyMs({ short, hosts }), embedded: short, prometheus, rotate, hosts, owner, logs };
}

/** With several hosts, more processes share the machine, so calls are placed less often. */
function everyMs({ short, hosts }: { short: boolean; hosts: boolean }): number {
  if (short) return hosts ? 3_000 : 4_000;
  return hosts ? 2_000 : 1_000;
}
