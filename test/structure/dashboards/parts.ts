import { LOOP_SAMPLE_MS } from '../../../src/platform/telemetry/metrics/metrics.js';
import type { Panel, Query } from './types.js';

export const RATE = '[$__rate_interval]';

/** The rate of a counter per second, by labels. */
export function rateBy(labels: string, counter: string): string {
  return `sum by (${labels}) (rate(${counter}${RATE}))`;
}

/** A quantile of a histogram, whose name has no `_bucket`, in all processes together. */
export function quantile(share: number, histogram: string, filter = '', labels = ''): string {
  const by = labels === '' ? 'le' : `le, ${labels}`;
  return `histogram_quantile(${share}, sum by (${by}) (rate(${histogram}_bucket${filter}${RATE})))`;
}

/** The median and the slow end of a histogram. */
export function quantiles(histogram: string, filter = ''): Query[] {
  return [0.5, 0.95, 0.99].map((share) => ({ expr: quantile(share, histogram, filter), legend: `p${share * 100}` }));
}

/** The mean of a histogram, whose percentiles are only as exact as its buckets. */
export const mean = (histogram: string, labels: string) =>
  `sum by (${labels}) (rate(${histogram}_sum${RATE})) / sum by (${labels}) (rate(${histogram}_count${RATE}))`;

/** A value that is 0 as long as none of its series exists. */
export const orZero = (expr: string) => `${expr} or on () vector(0)`;

/** Filter of the process metrics of one role. Prometheus knows the role of a process by its build_info. */
export const ofRole = (role: string, metric: string) =>
  `${metric} * on (instance) group_left (role) callwright_build_info{role=~"${role}"}`;

/** Process metrics of a role. */
export function processes(role: string): Panel[] {
  const legend = role === '.+' ? '{{role}} {{instance}}' : '{{instance}}';
  return [
    {
      title: 'Processor',
      about: 'Cores in use. A Node.js process does its work on one.',
      unit: 'none',
      queries: [{ expr: ofRole(role, `rate(process_cpu_seconds_total${RATE})`), legend }],
    },
    {
      title: 'Memory',
      about: 'Resident memory. It should not grow for days.',
      unit: 'bytes',
      queries: [{ expr: ofRole(role, 'process_resident_memory_bytes'), legend }],
    },
    {
      title: 'Delay of the event loop',
      about: 'How long a process needs to turn to the next piece of work, at the 99th percentile.',
      unit: 's',
      queries: [
        { expr: ofRole(role, `clamp_min(nodejs_eventloop_lag_p99_seconds - ${LOOP_SAMPLE_MS / 1_000}, 0)`), legend },
      ],
    },
    {
      title: 'Stalls of the event loop',
      about: 'Times above 100 ms in which a process did nothing else. See the runbook "Event loop blocked".',
      unit: 'none',
      queries: [{ expr: ofRole(role, `increase(callwright_event_loop_stall_seconds_count${RATE})`), legend }],
    },
  ];
}

/** The median and the slow end of a histogram. @param rateOf returns the rate of one of its series */
const quantilesOf = (rateOf: (series: 'bucket') => string): Query[] =>
  [0.5, 0.95, 0.99].map((share) => ({
    expr: `histogram_quantile(${share}, sum by (le) (${rateOf('bucket')}))`,
    legend: `p${share * 100}`,
  }));

/** How the processes of a role use MongoDB. */
export function database(role: string): Panel[] {
  const commands = (series: string) =>
    ofRole(role, `rate(callwright_mongodb_command_duration_seconds_${series}${RATE})`);
  return [
    {
      title: 'Commands to MongoDB',
      about: 'How long commands of this role take. See the runbook "Database slow".',
      unit: 's',
      red: 0.25,
      queries: quantilesOf(commands),
    },
    {
      title: 'Mean time of commands to MongoDB, by process',
      about: 'One slow process: look at that process. All slow: look at MongoDB or the network to it.',
      unit: 's',
      queries: [
        {
          expr: `sum by (instance) (${commands('sum')}) / sum by (instance) (${commands('count')})`,
          legend: '{{instance}}',
        },
      ],
    },
    {
      title: 'Waits of commands to MongoDB for a connection',
      about: 'Of 20 in each process. Nearly 0 while connections are free. See the runbook "Database slow".',
      unit: 's',
      red: 0.1,
      queries: quantilesOf((series) =>
        ofRole(role, `rate(callwright_mongodb_connection_wait_seconds_${series}${RATE})`),
      ),
    },
    {
      title: 'Commands to MongoDB without a connection',
      about:
        'Failures per second of this role, by reason. pool_cleared: the server did not respond. See the runbook "Database slow".',
      unit: 'cps',
      queries: [
        {
          expr: `sum by (reason) (${ofRole(role, `rate(callwright_mongodb_failures_total${RATE})`)})`,
          legend: '{{reason}}',
        },
      ],
    },
  ];
}
