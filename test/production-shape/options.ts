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
    },
  });
  const calls = Number(values.calls ?? (values.short ? SHORT_CALLS : DEFAULT_CALLS));
  if (!Number.isInteger(calls) || calls < 1) throw new TypeError('--calls must be a whole number of calls.');
  const { logs, prometheus, rotate, short } = values;
  return { calls, everyMs: short ? 4_000 : 1_000, embedded: short, prometheus, rotate, logs };
}
