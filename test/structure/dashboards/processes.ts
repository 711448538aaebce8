import { ofRole, orZero, processes, quantiles, rateBy } from './parts.js';
import type { Dashboard } from './types.js';

export const PROCESSES: Dashboard = {
  uid: 'callwright-processes',
  title: 'processes',
  description: 'The processes of all roles.',
  panels: [
    {
      title: 'Time since the start',
      about: 'A process that starts again and again stays low.',
      unit: 's',
      queries: [{ expr: ofRole('.+', '(time() - process_start_time_seconds)'), legend: '{{role}} {{instance}}' }],
    },
    {
      title: 'Processes that serve',
      about:
        '1: the process serves its role. 0: it starts, waits for a server or stops. See the runbook "Role not serving".',
      unit: 'none',
      queries: [{ expr: 'callwright_serving', legend: '{{role}} {{instance}}' }],
    },
    {
      title: 'Whether MongoDB and Temporal respond',
      about: '1: the server responds to the process. See the runbook "Dependency down".',
      unit: 'none',
      queries: [{ expr: 'callwright_dependency_up', legend: '{{dependency}} {{instance}}' }],
    },
    {
      title: 'Connections to MongoDB in use',
      about: 'Of 20 in each process. See the runbook "Database slow".',
      unit: 'none',
      red: 18,
      queries: [{ expr: 'max by (instance) (callwright_mongodb_connections{state="in_use"})', legend: '{{instance}}' }],
    },
    {
      title: 'Requests to object storage',
      about: 'How long requests for recordings take, if these are not stored in MongoDB.',
      unit: 's',
      queries: quantiles('callwright_object_request_duration_seconds'),
    },
    {
      title: 'Failed requests to object storage',
      about: 'Requests per second that failed, by operation. See the runbook "Object store fails".',
      unit: 'cps',
      queries: [
        {
          expr: orZero(rateBy('operation', 'callwright_object_request_duration_seconds_count{outcome="failed"}')),
          legend: '{{operation}}',
        },
      ],
    },
    {
      title: 'Dropped spans',
      about: 'Spans per second that the collector of traces did not take in time.',
      unit: 'cps',
      queries: [{ expr: orZero(rateBy('cause', 'callwright_trace_spans_dropped_total')), legend: '{{cause}}' }],
    },
    ...processes('.+'),
    {
      title: 'Garbage collection',
      about: 'The share of time that a process collects garbage.',
      unit: 'percentunit',
      queries: [{ expr: rateBy('instance', 'nodejs_gc_duration_seconds_sum'), legend: '{{instance}}' }],
    },
  ],
};
