import type { Registry } from 'prom-client';
import { CONTENDED_NAMES, DATABASE_FAILURE_REASONS, type MeasurementName, type Measurements } from '../measurements.js';
import { CALL_RECORDERS } from './call-recorders.js';
import { createCounter, createGauge, createHistogram, type Recorder } from './instruments.js';

/** Upper bounds in seconds. The database driver measures waits in whole milliseconds. */
const REQUEST_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const COMMAND_BUCKETS = [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

type DatabaseConnections = Measurements['databaseConnections'];

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
      help: 'Time for which a command to MongoDB has a connection, until its response',
      buckets: COMMAND_BUCKETS,
    });
    return ({ seconds }) => durations.observe(seconds);
  },

  databaseWait: (registry) => {
    const waits = createHistogram(registry, {
      name: 'mongodb_connection_wait_seconds',
      help: 'Time for which a command to MongoDB waits for a connection, also if it gets none',
      buckets: COMMAND_BUCKETS,
    });
    return ({ seconds }) => waits.observe(seconds);
  },

  databaseFailure: (registry) => {
    const help = 'Failures of connections to MongoDB';
    const failures = createCounter(registry, { name: 'mongodb_failures_total', help, labels: ['reason'] });
    // The series exist before the first failure, so that Prometheus sees its increase.
    for (const reason of DATABASE_FAILURE_REASONS) failures.inc({ reason }, 0);
    return ({ reason }) => failures.inc({ reason });
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

  databaseConnections: recordConnections,

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

  payment: (registry) => {
    const help = 'Events of paid checkouts: credited, or ignored because nothing was paid for a top-up';
    const payments = createCounter(registry, { name: 'payment_events_total', help, labels: ['outcome'] });
    return ({ outcome }) => payments.inc({ outcome });
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

function recordConnections(registry: Registry): ReturnType<Recorder<'databaseConnections'>> {
  const clients = new Set<DatabaseConnections>();
  const connections = createGauge(registry, {
    name: 'mongodb_connections',
    help: 'Connections to MongoDB that are open, and those of them in use',
    labels: ['state'],
    collect() {
      // Roles without a database have no such series.
      if (clients.size === 0) return;
      const all = [...clients];
      const total = (part: (client: DatabaseConnections) => number) => all.reduce((sum, each) => sum + part(each), 0);
      connections.set(
        { state: 'open' },
        total(({ open }) => open()),
      );
      connections.set(
        { state: 'in_use' },
        total(({ inUse }) => inUse()),
      );
      // A client that opens a connection later is reported again.
      for (const client of all) if (client.open() === 0) clients.delete(client);
    },
  });
  return (client) => clients.add(client);
}

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
