import { CALL_ID_PATTERN, ledgerAccountId } from '../../kernel/ids.js';
import { driverCollection } from '../../platform/mongo/driver-collection.js';
import type { CallsDatabase } from '../database.js';
import type { CallDocument } from '../call-model.js';
import type { CallRequestDocument } from '../call-request-model.js';
import type { LedgerEntryDocument } from '../../billing/ledger/model.js';
import type { CursorDocument } from './model.js';

/** A call found by a walk. */
export interface WalkedCall {
  callId: string;
  ledgerAccountId: string;
  /** True if the settlement's seconds came from our clocks. */
  estimated: boolean;
}

/** A call with the position of its record in the walk. */
type Row = WalkedCall & { at: Date; id: string };
type EntryRow = Pick<LedgerEntryDocument, '_id' | 'at' | 'ledgerAccountId' | 'estimated'>;

export type Walk = 'settlements' | 'calls' | 'holds';

export interface WalkStep {
  calls: WalkedCall[];
  /** Ids of records skipped because they have no valid call id or ledger account. */
  broken: string[];
  /** Whether more rows may follow. */
  hasMore: boolean;
  /** Stores the new position of the walk. Otherwise the next step reads the same rows again. */
  advance(): Promise<void>;
}

/** Documents found by a walk. `advance` moves the walk past one of them. */
interface IdStep {
  ids: string[];
  hasMore: boolean;
  advance(id: string): Promise<void>;
}

export type ReconciliationWalks = ReturnType<typeof createReconciliationWalks>;

/**
 * Creates the reconciler's walks through the stored records. A walk reads records in the order they were written and
 * continues where the last round stopped, so that a round is short however many records there are.
 */
export function createReconciliationWalks(database: CallsDatabase) {
  const { reconciliationCursors: cursors, ledgerEntries, ledgerAccounts, leases, calls, callRequests } = database;

  const readCursor = (walk: string) => cursors.findById(walk).lean<CursorDocument>().exec();
  const storeCursor = (walk: string, position: Omit<CursorDocument, '_id'>) =>
    cursors.updateOne({ _id: walk }, { $set: position }, { upsert: true });
  const walkById = createWalkById(database, { readCursor, storeCursor });

  // Reads as few fields as possible, because a field that cannot be decoded would stop the walk.
  const entries = (filter: object, limit: number) =>
    ledgerEntries
      .find(filter, { at: 1, ledgerAccountId: 1, estimated: 1 })
      .sort({ at: 1, _id: 1 })
      .limit(limit)
      .lean<EntryRow[]>()
      .exec();

  // The call id is part of the entry's key. The entry's other fields are compared later, so do not rely on them here.
  const toRow = ({ _id, at, ledgerAccountId: account, estimated = false }: EntryRow): Row => ({
    id: _id,
    at,
    callId: String(_id).slice(1).replace(/~0$/, ''),
    ledgerAccountId: account,
    estimated,
  });

  async function read(walk: Walk, until: Date, limit: number): Promise<Row[]> {
    const cursor = await readCursor(walk);
    if (walk === 'calls') {
      const documents = await calls
        .find({ updatedAt: { $lte: until }, ...after('updatedAt', cursor) }, { accountId: 1, mode: 1, updatedAt: 1 })
        .sort({ updatedAt: 1, _id: 1 })
        .limit(limit)
        .lean<CallDocument[]>()
        .exec();
      return documents.map(({ _id, updatedAt, accountId, mode }) => ({
        id: _id,
        at: updatedAt,
        callId: _id,
        ledgerAccountId: ledgerAccountId(accountId, mode),
        estimated: false,
      }));
    }
    const filter =
      walk === 'settlements'
        ? { type: 'settlement' }
        : { type: 'hold', _id: { $regex: '^H.*~0$' }, amountMicros: { $gt: 0 } };
    return (await entries({ ...filter, at: { $lte: until }, ...after('at', cursor) }, limit)).map(toRow);
  }

  return {
    /** Returns the next calls of a walk whose records were written no later than `until`. */
    async next(walk: Walk, until: Date, limit: number): Promise<WalkStep> {
      const rows = await read(walk, until, limit);
      const last = rows.at(-1);
      return {
        ...separateBroken(rows),
        hasMore: rows.length === limit,
        async advance() {
          if (last) await storeCursor(walk, { at: last.at, id: last.id });
        },
      };
    },

    /**
     * Returns the next requests, created no later than `until`, of calls that have no read model. These calls were
     * rejected, or their workflow never started. Erased requests are skipped.
     */
    async nextWithoutReadModel(until: Date, limit: number): Promise<WalkStep> {
      const wanted = { createdAt: { $lte: until }, ...after('createdAt', await readCursor('requests')) };
      const rows = await callRequests
        .find(wanted, { accountId: 1, mode: 1, createdAt: 1, toPhoneNumber: 1 })
        .sort({ createdAt: 1, _id: 1 })
        .limit(limit)
        .lean<Pick<CallRequestDocument, '_id' | 'accountId' | 'mode' | 'createdAt' | 'toPhoneNumber'>[]>()
        .exec();
      const ids = rows.map(({ _id }) => _id);
      // A tombstone does not count as a read model: its call was given up, perhaps before its workflow started.
      const read = await calls
        .find({ _id: { $in: ids }, accountId: { $exists: true } }, { _id: 1 })
        .lean<{ _id: string }[]>();
      const isRead = new Set(read.map(({ _id }) => _id));
      const last = rows.at(-1);
      const unread = rows
        .filter(({ _id, toPhoneNumber }) => !isRead.has(_id) && toPhoneNumber !== '')
        .map(({ _id, createdAt: at, accountId, mode }) => {
          return { id: _id, at, callId: _id, ledgerAccountId: ledgerAccountId(accountId, mode), estimated: false };
        });
      return {
        ...separateBroken(unread),
        hasMore: rows.length === limit,
        async advance() {
          if (last) await storeCursor('requests', { at: last.createdAt, id: last._id });
        },
      };
    },

    /** Returns the next ledger accounts. After the last one, the walk starts over. */
    nextAccounts: (limit: number) => walkById('accounts', ledgerAccounts, limit),

    /** Returns the ids of the next documents of concurrency slots. After the last one, the walk starts over. */
    nextLeases: (limit: number) => walkById('leases', leases, limit),
  };
}

/** Creates walks through documents by their ids. After the last document, a walk starts over. */
function createWalkById(
  database: CallsDatabase,
  p: {
    readCursor: (walk: string) => Promise<CursorDocument | null>;
    storeCursor: (walk: string, position: { id: string }) => PromiseLike<unknown>;
  },
) {
  const { readCursor, storeCursor } = p;
  return async (walk: string, model: { collection: { collectionName: string } }, limit: number): Promise<IdStep> => {
    const from = (await readCursor(walk))?.id ?? '';
    const ids = await driverCollection<{ _id: string }>(database, model)
      .find({ _id: { $gt: from } }, { projection: { _id: 1 } })
      .sort({ _id: 1 })
      .limit(limit)
      .map(({ _id }) => _id)
      .toArray();
    // The previous step ended exactly at the last document, so start over.
    if (ids.length === 0 && from !== '') await storeCursor(walk, { id: '' });
    const hasMore = ids.length === limit;
    return {
      ids,
      hasMore,
      advance: async (id) => {
        await storeCursor(walk, { id: hasMore || id !== ids.at(-1) ? id : '' });
      },
    };
  };
}

/** Separates the calls to follow up from the ids of broken records. */
function separateBroken(rows: readonly Row[]): Pick<WalkStep, 'calls' | 'broken'> {
  const isWellFormed = ({ callId, ledgerAccountId: account }: Row) =>
    CALL_ID_PATTERN.test(callId) && typeof account === 'string' && account !== '';
  return {
    calls: rows.filter(isWellFormed),
    broken: rows.filter((row) => !isWellFormed(row)).map(({ id }) => String(id)),
  };
}

/** Filter for rows after the cursor: later ones, or equally old ones with a greater id. */
function after(field: string, cursor: CursorDocument | null) {
  if (!cursor?.at) return {};
  const { at, id } = cursor;
  return { $or: [{ [field]: { $gt: at } }, { [field]: at, _id: { $gt: id } }] };
}
