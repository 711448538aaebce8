import type { Gauge, Registry } from 'prom-client';
import type { LeaseDocument, LedgerAccountDocument } from '../billing/ledger/model.js';
import type { Mode } from '../kernel/ids.js';
import { driverCollection } from '../platform/mongo/driver-collection.js';
import { createServerClock, type ServerClock } from '../platform/mongo/server-clock.js';
import { createGauge } from '../platform/telemetry/metrics/instruments.js';
import { waitingCalls } from '../telephony/pacing/dial-queue.js';
import type { DialPacingDocument } from '../telephony/pacing/model.js';
import type { CallsDatabase } from './database.js';
import { createFindings } from './reconciliation/findings.js';
import { createRetentionBacklog, KEPT_FOREVER, type BacklogDays } from './retention/backlog.js';

/** Sums are read again after this time. They read one small document of every account. */
const FRESH_MS = 20_000;

type Sums = Record<Mode, number>;

/**
 * Adds the metrics of the whole service's state: calls, held money, the dial queue, open findings and what
 * retention has not come to. They are read from the database, so one process of a deployment has them. If the database does
 * not respond, collecting them fails.
 */
export function registerStateMetrics(
  registry: Registry,
  database: CallsDatabase,
  days: BacklogDays = KEPT_FOREVER,
): void {
  const backlog = createRetentionBacklog(database, days);
  const findings = createFindings(database);
  let clock: ServerClock | undefined;
  let read: { at: number; done: Promise<void> } | undefined;

  async function collect(): Promise<void> {
    if (read === undefined || performance.now() - read.at > FRESH_MS) {
      const done = update();
      read = { at: performance.now(), done };
      done.catch(() => (read = undefined));
    }
    return read.done;
  }

  const gauge = (name: string, help: string, labels: readonly string[] = []) =>
    createGauge(registry, { name, help, labels, collect });
  const calls = gauge('calls_in_progress', 'Calls that are accepted and have not ended', ['mode']);
  const held = gauge('money_held_micro_usd', 'Money held for calls, in millionths of a USD', ['mode']);
  const queued = gauge('dial_queue_calls', 'Calls that wait for a dial slot');
  const longest = gauge('dial_queue_longest_wait_seconds', 'How long the first of these calls has waited');
  const open = gauge('reconciliation_open_findings', 'Unresolved findings', ['kind']);
  const overdue = gauge('retention_overdue_seconds', 'Since when the oldest data could have been deleted', ['class']);
  const unjoined = gauge('recordings_unjoined_seconds', 'Age of the oldest recording in segments');

  async function update(): Promise<void> {
    const [slots, micros, waiting, found, late, segmented] = await Promise.all([
      sumByMode(
        driverCollection<LeaseDocument>(database, database.leases).find(ABOVE_0.count, fieldsOf('count')),
        'count',
      ),
      sumByMode(
        driverCollection<LedgerAccountDocument>(database, database.ledgerAccounts).find(
          ABOVE_0.held,
          fieldsOf('heldMicros'),
        ),
        'heldMicros',
      ),
      readWaiting(database, () => (clock ??= createServerClock(database))()),
      findings.list(),
      backlog.overdue(),
      backlog.unjoined(),
    ]);
    setByMode(calls, slots);
    setByMode(held, micros);
    queued.set(waiting.calls);
    longest.set(waiting.longestMs / 1_000);
    open.reset();
    for (const { kind } of found) open.inc({ kind });
    for (const [name, ms] of Object.entries(late)) overdue.set({ class: name }, ms / 1_000);
    unjoined.set(segmented / 1_000);
  }
}

function setByMode(gauge: Gauge, sums: Sums): void {
  gauge.set({ mode: 'live' }, sums.live);
  gauge.set({ mode: 'test' }, sums.test);
}

/** Most accounts have no call at the moment. */
const ABOVE_0 = { count: { count: { $gt: 0 } }, held: { heldMicros: { $gt: 0 } } } as const;
const fieldsOf = (field: string) => ({ projection: { [field]: 1 }, batchSize: 1_000 });

/** Sums a field of documents whose ids contain `~live` or `~test`. */
async function sumByMode<Field extends string>(
  documents: AsyncIterable<{ _id: unknown } & Record<Field, number>>,
  field: Field,
): Promise<Sums> {
  const sums: Sums = { live: 0, test: 0 };
  for await (const document of documents) {
    const mode = /~(live|test)\b/.exec(String(document._id))?.[1];
    if (mode !== undefined) sums[mode as Mode] += document[field];
  }
  return sums;
}

/** @param clock the one of the times in the queues */
async function readWaiting(database: CallsDatabase, clock: ServerClock): Promise<{ calls: number; longestMs: number }> {
  const [queues, now] = await Promise.all([
    driverCollection<DialPacingDocument>(database, database.dialPacing).find({}).toArray(),
    clock(),
  ]);
  const calls = queues.flatMap((queue) => waitingCalls(queue, now));
  return { calls: calls.length, longestMs: calls.reduce((most, { since }) => Math.max(most, now - since), 0) };
}
