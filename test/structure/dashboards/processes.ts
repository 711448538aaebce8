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
