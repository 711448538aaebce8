import { CALL_ID_PATTERN, ledgerAccountId } from '../../kernel/ids.js';
import type { CallsDatabase } from '../database.js';
import type { CallDocument } from '../call-model.js';
import type { CallRequestDocument } from '../call-request-model.js';
import type { LedgerEntryDocument } from '../../billing/ledger/model.js';
import type { CursorDocument } from './model.js';

/** A call found by a walk. */
export interface MetCall {
  callId: string;
  ledgerAccountId: string;
  /** Its settlement used our own clocks. */
  estimated: boolean;
}

/** A call with the walk's position at its record. */
type Row = MetCall & { at: Date; id: string };
type EntryRow = Pick<LedgerEntryDocument, '_id' | 'at' | 'ledgerAccountId' | 'estimated'>;

export type Walk = 'settlements' | 'calls' | 'holds';

export interface Step {
  calls: MetCall[];
  /** Ids of skipped records, which have no valid call id or ledger account. */
  broken: string[];
  /** Whether more rows may follow. */
  more: boolean;
  /** Advances the walk. Without it, the next step reads the same rows again. */
  done(): Promise<void>;
}

export type ReconciliationWalks = ReturnType<typeof createReconciliationWalks>;

/**
 * The reconciler's walks through the stored records. Each reads them in the order they were written and continues where
 * the last round stopped, so that a round is bounded however many records there are.
 */
export function createReconciliationWalks(database: CallsDatabase) {
  const { reconciliationCursors: cursors, ledgerEntries, ledgerAccounts, calls, callRequests } = database;

  const cursorOf = (walk: string) => cursors.findById(walk).lean<CursorDocument>().exec();
  const moveTo = (walk: string, place: Omit<CursorDocument, '_id'>) =>
    cursors.updateOne({ _id: walk }, { $set: place }, { upsert: true });

  // Reads as few fields as possible, because a field that cannot be decoded would stop the walk.
  const entries = (filter: object, limit: number) =>
    ledgerEntries
      .find(filter, { at: 1, ledgerAccountId: 1, estimated: 1 })
      .sort({ at: 1, _id: 1 })
      .limit(limit)
      .lean<EntryRow[]>()
      .exec();

  // The call id comes from the entry's key; the entry's other fields are compared later and not trusted here.
  const rowOfEntry = ({ _id, at, ledgerAccountId: account, estimated = false }: EntryRow): Row => ({
    id: _id,
    at,
    callId: String(_id).slice(1).replace(/~0$/, ''),
    ledgerAccountId: account,
    estimated,
  });

  async function read(walk: Walk, until: Date, limit: number): Promise<Row[]> {
    const cursor = await cursorOf(walk);
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
    return (await entries({ ...filter, at: { $lte: until }, ...after('at', cursor) }, limit)).map(rowOfEntry);
  }

  return {
    /** The next calls of a walk, whose records were written no later than `until`. */
    async next(walk: Walk, until: Date, limit: number): Promise<Step> {
      const rows = await read(walk, until, limit);
      const last = rows.at(-1);
      return {
        ...told(rows),
        more: rows.length === limit,
        async done() {
          if (last) await moveTo(walk, { at: last.at, id: last.id });
        },
      };
    },

    /**
     * The next requests, created no later than `until`, of calls that have no read model: they were refused, or their
     * workflow never started. Erased requests are skipped.
     */
    async nextUnread(until: Date, limit: number): Promise<Step> {
      const wanted = { createdAt: { $lte: until }, ...after('createdAt', await cursorOf('requests')) };
      const rows = await callRequests
        .find(wanted, { accountId: 1, mode: 1, createdAt: 1, toPhoneNumber: 1 })
        .sort({ createdAt: 1, _id: 1 })
        .limit(limit)
        .lean<Pick<CallRequestDocument, '_id' | 'accountId' | 'mode' | 'createdAt' | 'toPhoneNumber'>[]>()
        .exec();
      const ids = rows.map(({ _id }) => _id);
      // A tombstone counts as no read model: its call was given up, perhaps before its workflow started.
      const read = await calls
        .find({ _id: { $in: ids }, accountId: { $exists: true } }, { _id: 1 })
        .lean<{ _id: string }[]>();
      const isRead = new Set(read.map(({ _id }) => _id));
      const last = rows.at(-1);
      const left = rows
        .filter(({ _id, toPhoneNumber }) => !isRead.has(_id) && toPhoneNumber !== '')
        .map(({ _id, createdAt: at, accountId, mode }) => {
          return { id: _id, at, callId: _id, ledgerAccountId: ledgerAccountId(accountId, mode), estimated: false };
        });
      return {
        ...told(left),
        more: rows.length === limit,
        async done() {
          if (last) await moveTo('requests', { at: last.createdAt, id: last._id });
        },
      };
    },

    /** The next ledger accounts by id. After the last one, the walk starts over. */
    async nextAccounts(limit: number): Promise<{ ids: string[]; more: boolean; done(id: string): Promise<void> }> {
      const from = (await cursorOf('accounts'))?.id ?? '';
      const found = await ledgerAccounts
        .find({ _id: { $gt: from } }, { _id: 1 })
        .sort({ _id: 1 })
        .limit(limit)
        .lean<{ _id: string }[]>()
        .exec();
      const ids = found.map(({ _id }) => _id);
      // The previous step ended exactly at the last account.
      if (ids.length === 0 && from !== '') await moveTo('accounts', { id: '' });
      const more = ids.length === limit;
      return {
        ids,
        more,
        done: async (id) => {
          await moveTo('accounts', { id: more || id !== ids.at(-1) ? id : '' });
        },
      };
    },
  };
}

/** Separates the calls to follow up from the ids of broken records. */
function told(rows: readonly Row[]): Pick<Step, 'calls' | 'broken'> {
  const names = ({ callId, ledgerAccountId: account }: Row) =>
    CALL_ID_PATTERN.test(callId) && typeof account === 'string' && account !== '';
  return {
    calls: rows.filter(names),
    broken: rows.filter((row) => !names(row)).map(({ id }) => String(id)),
  };
}

/** Filter for rows after the cursor: later ones, or equally old ones with a greater id. */
function after(field: string, cursor: CursorDocument | null) {
  if (!cursor?.at) return {};
  const { at, id } = cursor;
  return { $or: [{ [field]: { $gt: at } }, { [field]: at, _id: { $gt: id } }] };
}
