import type { Registry } from 'prom-client';
import { CONTENDED_NAMES, type MeasurementName } from '../measurements.js';
import { CALL_RECORDERS } from './call-recorders.js';
import { createCounter, createGauge, createHistogram, type Recorder } from './instruments.js';

/** Upper bounds in seconds. The database driver measures whole milliseconds. */
const REQUEST_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const COMMAND_BUCKETS = [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

/** How each measurement becomes a metric. */
export const RECORDERS: { readonly [Name in MeasurementName]: Recorder<Name> } = {
  ...CALL_RECORDERS,

  httpRequest: (registry) => {
    const durations = createHistogram(registry, {
      name: 'http_request_duration_seconds',
      help: 'Time from the arrival of a request until its response is prepared',
      labels: ['method', 'route', 'status', 'mode', 'cause'],
      buckets: REQUEST_BUCKETS,
    });
    return ({ seconds, ...labels }) => durations.observe(labels, seconds);
  },

  databaseCommand: (registry) => {
    const durations = createHistogram(registry, {
      name: 'mongodb_command_duration_seconds',
      help: 'Commands to MongoDB',
      labels: ['command', 'outcome'],
      buckets: COMMAND_BUCKETS,
    });
    return ({ command, outcome, seconds }) => durations.observe({ command, outcome }, seconds);
  },

  serving: (registry) => {
    const help = 'Whether the process serves its role: 1; 0 while it starts, waits for a server or stops';
    const states = createGauge(registry, { name: 'serving', help, labels: ['role'] });
    return ({ role, serving }) => states.set({ role }, serving ? 1 : 0);
  },

  dependency: (registry) => {
    const help = 'Whether a server that the process needs responds: 1, or 0';
    const states = createGauge(registry, { name: 'dependency_up', help, labels: ['dependency'] });
    return ({ dependency, up }) => states.set({ dependency }, up ? 1 : 0);
  },

  databaseConnections: (registry) => {
    const connections = createGauge(registry, {
      name: 'mongodb_connections',
      help: 'Connections to MongoDB that are open, and those of them in use',
      labels: ['state'],
    });
    return ({ state, change }) => connections.inc({ state }, change);
  },

  contention: recordContention,

  stall: (registry) => {
    const stalls = createHistogram(registry, {
      name: 'event_loop_stall_seconds',
      help: 'Times above 100 ms for which the process blocked its event loop; measured in production only',
      buckets: [0.2, 0.5, 1, 2, 5],
    });
    return ({ ms }) => stalls.observe(ms / 1_000);
  },

  spansDropped: (registry) => {
    const help = 'Spans of traces that were not sent';
    const dropped = createCounter(registry, { name: 'trace_spans_dropped_total', help, labels: ['cause'] });
    return ({ cause, count }) => dropped.inc({ cause }, count);
  },

  reconciliationFinding: (registry) => {
    const help = 'Mismatches that reconciliation found';
    const findings = createCounter(registry, { name: 'reconciliation_findings_total', help, labels: ['kind'] });
    return ({ kind }) => findings.inc({ kind });
  },

  brokenRecords: (registry) => {
    const help = 'Records that reconciliation could not read and skipped';
    const broken = createCounter(registry, { name: 'reconciliation_broken_records_total', help });
    return ({ count }) => broken.inc(count);
  },

  recordingsDeleted: (registry) => {
    const help = 'Recordings deleted after their retention';
    const deleted = createCounter(registry, { name: 'recordings_deleted_total', help });
    return ({ count }) => deleted.inc(count);
  },

  objectRequest: (registry) => {
    const requests = createHistogram(registry, {
      name: 'object_request_duration_seconds',
      help: 'Requests to the object storage of recordings',
      labels: ['operation', 'outcome'],
      buckets: COMMAND_BUCKETS,
    });
    return ({ operation, outcome, seconds }) => requests.observe({ operation, outcome }, seconds);
  },
};

function recordContention(registry: Registry): ReturnType<Recorder<'contention'>> {
  const retries = createCounter(registry, {
    name: 'write_retries_total',
    help: 'Writes tried again after a conflict with another writer',
    labels: ['name'],
  });
  const givenUp = createCounter(registry, {
    name: 'writes_given_up_total',
    help: 'Writes given up after repeated conflicts with other writers',
    labels: ['name'],
  });
  // The series exist before the first loss, so that Prometheus sees its increase.
  for (const name of CONTENDED_NAMES) givenUp.inc({ name }, 0);
  return ({ name, retries: count, gaveUp }) => {
    retries.inc({ name }, count);
    if (gaveUp) givenUp.inc({ name });
  };
}
