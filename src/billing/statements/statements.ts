import type { ClientSession, mongo } from 'mongoose';
import type { Period, StatementEntry, UsageGrouping, UsageRow } from './statement.js';
import { inCausalOrder } from '../../platform/mongo/connection.js';
import { LIST_READ_TIMEOUT_MS } from '../../platform/mongo/pages.js';
import { driverCollection } from '../../platform/mongo/driver-collection.js';
import type { BillingDatabase } from '../database.js';
import type { LedgerAccountDocument, LedgerEntryDocument } from '../ledger/model.js';
import { inSteps, type RunStep } from '../../platform/http/routing/export-steps.js';
import { statementEntryOf } from './entries.js';
import { createUsageSums, type UsageAgents } from './usage-sums.js';

/** The last entry of a page; the next page starts after it. */
export interface StatementPosition {
  at: Date;
  id: string;
}

export interface StatementQuery extends Partial<Period> {
  ledgerAccountId: string;
}

interface UsageQuery extends StatementQuery {
  from: Date;
  to: Date;
  groupBy: UsageGrouping;
  signal?: AbortSignal;
  runStep?: RunStep;
}

export type Statements = ReturnType<typeof createStatements>;

const BATCH = 500;
/** The database aborts the queries of an export after this time. The client's request has timed out by then, too. */
const EXPORT_READ_TIMEOUT_MS = 120_000;

/**
 * Creates the reader for an account's statements. It misses no operation, because it reads the markers in the account
 * document first and the ledger entries afterwards: an operation decided before the first read is among the markers or
 * already has an entry. A marker and its entry have the same key and time, so both lists merge without duplicates.
 */
export function createStatements(database: BillingDatabase, agents: UsageAgents) {
  return {
    /**
     * Reads one page, newest first.
     * @param p.limit maximum entries per page
     * @returns `next` when older entries follow
     */
    async page(
      p: StatementQuery & { after?: StatementPosition; limit: number },
    ): Promise<{ entries: StatementEntry[]; next?: StatementPosition }> {
      const entries: StatementEntry[] = [];
      for await (const entry of newestFirst(database, { ...p, show: SHOWN, limit: p.limit + 1 })) {
        const last = entries.at(-1);
        if (last && entries.length === p.limit) return { entries, next: { at: last.at, id: last.id } };
        entries.push(statementEntryOf(entry));
      }
      return { entries };
    },

    /** Reads all entries of a period, newest first, with one batch in memory at a time. */
    async *entries(p: StatementQuery): AsyncGenerator<StatementEntry> {
      for await (const entry of newestFirst(database, { ...p, show: SHOWN })) yield statementEntryOf(entry);
    },

    /**
     * Sums up the billed calls of a period. The sum equals the amount the ledger billed, to the micro-USD.
     * @param p.signal ends the sum
     * @param p.runStep runs the sum of one batch after the other; by default at once
     * @throws the reason of `signal`
     */
    async usage(p: UsageQuery): Promise<UsageRow[]> {
      const sums = createUsageSums(agents, p.groupBy);
      for await (const rows of inSteps(
        sumUp(newestFirst(database, { ...p, show: BILLING }), sums, p.signal),
        p.runStep,
      )) {
        if (rows !== undefined) return rows;
      }
      throw new Error('the usage of a period was not summed up');
    },
  };
}

/** Adds up entries. Yields undefined after each batch, and in the end the rows. */
async function* sumUp(
  entries: AsyncIterable<LedgerEntryDocument>,
  sums: ReturnType<typeof createUsageSums>,
  signal: AbortSignal | undefined,
): AsyncGenerator<UsageRow[] | undefined> {
  let count = 0;
  for await (const entry of entries) {
    signal?.throwIfAborted();
    await sums.add(entry);
    if (++count % BATCH === 0) yield undefined;
  }
  yield await sums.rows();
}

type Filter = mongo.Filter<LedgerEntryDocument>;

interface Selection {
  matches(entry: LedgerEntryDocument): boolean;
  filter: Filter;
}

/** Leaves out the tombstones of holds, which are internal. */
const SHOWN: Selection = { matches: (entry) => entry.void !== true, filter: { void: { $ne: true } } };

const BILLING: Selection = {
  matches: ({ type }) => type === 'settlement' || type === 'correction',
  filter: { type: { $in: ['settlement', 'correction'] } },
};

interface Query extends StatementQuery {
  after?: StatementPosition;
  limit?: number;
  show: Selection;
}

async function* newestFirst(database: BillingDatabase, query: Query): AsyncGenerator<LedgerEntryDocument> {
  const accounts = driverCollection<LedgerAccountDocument>(database, database.ledgerAccounts);
  const entries = driverCollection<LedgerEntryDocument>(database, database.ledgerEntries);
  yield* inCausalOrder(database, async function* (session?: ClientSession) {
    const options = session ? { session } : {};
    const { ledgerAccountId } = query;
    const account = await accounts.findOne({ _id: ledgerAccountId }, { ...options, projection: { markers: 1 } });
    if (!account) throw new Error(`ledger account ${ledgerAccountId} does not exist`);
    const latest = Object.entries(account.markers ?? {})
      .map(([key, marker]): LedgerEntryDocument => ({ _id: key, ledgerAccountId, ...marker }))
      .filter((entry) => isWanted(entry, query))
      .toSorted((a, b) => (isNewer(a, b) ? -1 : 1));
    const rows = entries
      .find(filterOf(query), { ...options, batchSize: BATCH, maxTimeMS: readWithinMs(query) })
      .sort({ at: -1, _id: -1 })
      .limit(query.limit ?? 0);
    try {
      yield* merged(latest, rows);
    } finally {
      await rows.close();
    }
  });
}

/** Merges two sequences, each newest first; an entry in both appears once. */
async function* merged(
  latest: readonly LedgerEntryDocument[],
  rows: AsyncIterable<LedgerEntryDocument>,
): AsyncGenerator<LedgerEntryDocument> {
  let next = 0;
  for await (const row of rows) {
    for (let entry = latest[next]; entry && isNewer(entry, row); entry = latest[++next]) yield entry;
    if (latest[next]?._id === row._id) next++;
    yield row;
  }
  yield* latest.slice(next);
}

function isNewer(a: LedgerEntryDocument, b: LedgerEntryDocument): boolean {
  const [left, right] = [a.at.getTime(), b.at.getTime()];
  return left === right ? a._id > b._id : left > right;
}

function isWanted(entry: LedgerEntryDocument, { from, to, after, show }: Query): boolean {
  if (from && entry.at < from) return false;
  if (to && entry.at >= to) return false;
  const behind = !after || entry.at < after.at || (entry.at.getTime() === after.at.getTime() && entry._id < after.id);
  return behind && show.matches(entry);
}

function readWithinMs({ limit }: Query): number {
  return limit === undefined ? EXPORT_READ_TIMEOUT_MS : LIST_READ_TIMEOUT_MS;
}

function filterOf({ ledgerAccountId, from, to, after, show }: Query): Filter {
  const at = { ...(from ? { $gte: from } : {}), ...(to ? { $lt: to } : {}), ...(after ? { $lte: after.at } : {}) };
  return {
    ledgerAccountId,
    ...(Object.keys(at).length > 0 ? { at } : {}),
    ...(after ? { $or: [{ at: { $lt: after.at } }, { at: after.at, _id: { $lt: after.id } }] } : {}),
    ...show.filter,
  };
}
