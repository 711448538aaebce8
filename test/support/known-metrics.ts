import { registerStateMetrics } from '../../src/calls/state-metrics.js';
import type { Database } from '../../src/database.js';
import { createLogger } from '../../src/platform/telemetry/logger.js';
import { createMetrics } from '../../src/platform/telemetry/metrics/metrics.js';

/** Metrics of Temporal's SDK, with their labels; test/integration/telephony reads some of them from a worker. */
const TEMPORAL: Readonly<Record<string, readonly string[]>> = {
  temporal_workflow_task_schedule_to_start_latency_seconds: ['task_queue', 'workflow_type'],
  temporal_workflow_task_queue_poll_succeed_total: ['task_queue'],
  temporal_request_latency_seconds: ['operation', 'task_queue'],
  temporal_num_pollers: ['poller_type', 'task_queue'],
  temporal_activity_execution_failed_total: ['activity_type', 'task_queue', 'workflow_type'],
};
/** Labels that Prometheus adds, and `role`, which queries join from `callwright_build_info`. */
const COMMON = ['le', 'instance', 'job', 'role'];
const METRIC = /\b((?:callwright|temporal|process|nodejs)_\w+)(?:\{([^}]*)\})?/g;

/** Returns every metric that a role has, with its labels. */
function knownMetrics(): ReadonlyMap<string, readonly string[]> {
  const metrics = createMetrics({ role: 'test', logger: createLogger({ role: 'test', level: 'silent' }) });
  registerStateMetrics(metrics.registry, {} as Database);
  const all = metrics.registry.getMetricsAsArray() as unknown as { name: string; labelNames?: string[] }[];
  metrics.close();
  return new Map([...all.map(({ name, labelNames = [] }) => [name, labelNames] as const), ...Object.entries(TEMPORAL)]);
}

/** Returns a function that lists the metrics and labels in a query that no role has. */
export function createQueryCheck(): (expr: string) => string[] {
  const known = knownMetrics();
  const labelsOf = (name: string) => known.get(name) ?? known.get(name.replace(/_(bucket|count|sum)$/, ''));
  return (expr) => {
    const used = [...expr.matchAll(METRIC)].map(([, name = '', filter = '']) => ({ name, filter }));
    const filters = used.flatMap(({ name, filter }) => {
      const labels = labelsOf(name);
      if (labels === undefined) return [name];
      const named = [...filter.matchAll(/(\w+)\s*(?:=~|!=|!~|=)/g)].map(([, label = '']) => label);
      return named.filter((label) => !COMMON.includes(label) && !labels.includes(label));
    });
    const grouping = [...expr.matchAll(/\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)/g)];
    const allowed = [...COMMON, ...used.flatMap(({ name }) => labelsOf(name) ?? [])];
    const grouped = grouping.flatMap(([, labels = '']) => labels.split(',').map((label) => label.trim()));
    return [...filters, ...grouped.filter((label) => label !== '' && !allowed.includes(label))];
  };
}
