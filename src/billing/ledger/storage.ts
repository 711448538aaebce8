import type { ClientSession, mongo } from 'mongoose';
import { isDuplicateKey } from '../../platform/mongo/connection.js';
import { driverCollection } from '../../platform/mongo/driver-collection.js';
import type { BillingDatabase } from '../database.js';
import type {
  LedgerAccountDocument,
  LedgerCheckpointDocument,
  LedgerEntryDocument,
  LedgerFreeze,
  LedgerMarker,
  LedgerRecount,
  LedgerSums,
} from './model.js';

/** The amounts an operation may change. In each operation, credited - billed = available + held stays true. */
export type LedgerAmount = 'availableMicros' | 'heldMicros' | 'creditedMicros' | 'billedMicros';

/** All numbers of an account that an operation may change: the amounts, and the day's spending. */
export type LedgerFigure = LedgerAmount | 'spendDay' | 'spentMicros';

/** A condition on a number of the account, checked by the update itself. */
export interface AmountRange {
  atLeast?: number;
  below?: number;
}

export type AccountGuard = Partial<Record<LedgerFigure, AmountRange>> & {
  /** True: the account must be frozen; false: it must not be. */
  frozen?: boolean;
};

/** The contents that the marker of a hold must have so that a settlement planned without a read is right. */
export type ExpectedMarker = { key: string; last: boolean } & Required<
  Pick<LedgerMarker, 'amountMicros' | 'microsPerSecond' | 'spendDay'>
>;

/** An atomic, conditional update of one account document. */
export type AccountUpdate =
  | {
      kind: 'decide';
      ledgerAccountId: string;
      /** The account's epoch when it was read. The update is rejected if the epoch has changed since. */
      epoch: number;
      key: string;
      marker: LedgerMarker;
      increments: Partial<Record<LedgerFigure, number>>;
      guard: AccountGuard;
      /** The update is rejected when the document already has this many markers. */
      maxMarkers: number;
      /** A further marker to store in the same update, under a key that must not exist either. */
      also?: { key: string; marker: LedgerMarker };
      /** A marker that must exist with these values. A marker without `last` has no such field. */
      expected?: ExpectedMarker;
    }
  | { kind: 'sweep'; ledgerAccountId: string; epoch: number; keys: readonly string[] };

/**
 * Storage operations of the ledger: atomic updates of single documents, and reads that see all earlier writes. Kept
 * small, so that a simulation of lost responses and late writes can replace it.
 */
export interface LedgerSession {
  /** Reads the account, with the markers of these operation keys or with all markers. */
  findAccount(ledgerAccountId: string, keys: readonly string[] | 'all'): Promise<LedgerAccountDocument | null>;
  findEntry(key: string): Promise<LedgerEntryDocument | null>;
  /** Returns those of the operation keys that have an entry. */
  findEntryKeys(keys: readonly string[]): Promise<ReadonlySet<string>>;
  /** Inserts the entry unless its key exists. */
  insertEntry(entry: LedgerEntryDocument): Promise<void>;
  /** Inserts those of the entries whose keys do not exist. Not atomic: if it fails, some may have been inserted. */
  insertEntries(entries: readonly LedgerEntryDocument[]): Promise<void>;
  /** Lists the ids of all ledger accounts, or of those of one customer account, sorted. */
  listAccounts(accountId?: string): Promise<string[]>;
  /** Inserts the account unless it exists. */
  insertAccount(account: LedgerAccountDocument): Promise<void>;
  /** @returns whether the conditions held and the update was applied */
  updateAccount(update: AccountUpdate): Promise<boolean>;
  /**
   * Applies an update and reads these markers of the account in the same atomic operation.
   * @returns null if the conditions did not hold and nothing was applied
   */
  updateAndRead(update: AccountUpdate, keys: readonly string[]): Promise<LedgerAccountDocument['markers'] | null>;
  /** Freezes an account unless it is frozen. Null unfreezes it. */
  setFreeze(ledgerAccountId: string, freeze: LedgerFreeze | null): Promise<void>;
  /** Reads the account's entries of the epochs from `from` up to, but without, `before`, in no particular order. */
  entriesOf(ledgerAccountId: string, epochs: { from: number; before: number }): AsyncIterable<LedgerEntryDocument>;
  /** Reads the first `most` of these entries, sorted by epoch. */
  firstEntriesOf(
    ledgerAccountId: string,
    p: { from: number; before: number; most: number },
  ): Promise<LedgerEntryDocument[]>;
  findCheckpoint(ledgerAccountId: string): Promise<LedgerCheckpointDocument | null>;
  /** Stores later sums in the checkpoint of this generation. Without a generation, also if there is no checkpoint. */
  advanceCheckpoint(ledgerAccountId: string, sums: LedgerSums, generation?: number): Promise<void>;
  /**
   * Stores a checkpoint in place of one with this generation, which must be counting if `former` is. If `former` has no
   * generation, there may be none.
   */
  replaceCheckpoint(
    checkpoint: LedgerCheckpointDocument,
    former: { generation: number | undefined; counting?: true },
  ): Promise<void>;
  /** Stores how far the recount of the checkpoint of this generation is; null ends it. */
  saveRecount(
    checkpoint: Pick<LedgerCheckpointDocument, '_id' | 'generation'>,
    recount: LedgerRecount | null,
    at: Date,
  ): Promise<void>;
}

export interface LedgerStorage {
  /** Runs work with causally consistent reads and writes, even if the primary changes meanwhile. */
  consistently<T>(work: (session: LedgerSession) => Promise<T>): Promise<T>;
}

/**
 * Creates the ledger's storage in MongoDB. On a replica set, each call of `consistently` uses one causally consistent
 * session with the majority concerns of `openDatabase`. A single or embedded server needs no session.
 */
export function createLedgerStorage(database: BillingDatabase): LedgerStorage {
  const client = database.connection.getClient();
  return {
    async consistently(work) {
      if (!database.replicated) return work(sessionOn(database, undefined));
      const session = client.startSession({ causalConsistency: true });
      try {
        return await work(sessionOn(database, session));
      } finally {
        await session.endSession();
      }
    },
  };
}

function sessionOn(database: BillingDatabase, session: ClientSession | undefined): LedgerSession {
  const accounts = driverCollection<LedgerAccountDocument>(database, database.ledgerAccounts);
  const entries = driverCollection<LedgerEntryDocument>(database, database.ledgerEntries);
  const options = session ? { session } : {};
  return {
    findAccount(ledgerAccountId, keys) {
      const projection = keys === 'all' ? undefined : projectionOf(keys);
      return accounts
        .findOne({ _id: ledgerAccountId }, { ...options, ...(projection ? { projection } : {}) })
        .then((account) => account && { ...account, markers: account.markers ?? {} });
    },
    findEntry: (key) => entries.findOne({ _id: key }, options),
    async findEntryKeys(keys) {
      const found = await entries
        .find({ _id: { $in: [...keys] } }, { ...options, projection: { _id: 1 } })
        .map(({ _id }) => _id)
        .toArray();
      return new Set(found);
    },
    insertEntry: (entry) => ifAbsent(() => entries.insertOne(entry, options)),
    insertEntries: (missing) => ifAbsent(() => entries.insertMany(missing, { ...options, ordered: false })),
    listAccounts: (accountId) =>
      accounts
        .find(accountId === undefined ? {} : { _id: { $gte: `${accountId}~`, $lt: `${accountId}\u007F` } }, {
          ...options,
          projection: { _id: 1 },
        })
        .sort({ _id: 1 })
        .map(({ _id }) => _id)
        .toArray(),
    insertAccount: (account) => ifAbsent(() => accounts.insertOne(account, options)),
    async updateAccount(update) {
      const { filter, change }: AccountChange = update.kind === 'decide' ? decision(update) : removal(update);
      const { matchedCount } = await accounts.updateOne(filter, change, options);
      return matchedCount === 1;
    },
    async updateAndRead(update, keys) {
      const { filter, change }: AccountChange = update.kind === 'decide' ? decision(update) : removal(update);
      const projection = projectionOf(keys);
      const account = await accounts.findOneAndUpdate(filter, change, {
        ...options,
        projection,
        returnDocument: 'after',
      });
      return account && (account.markers ?? {});
    },
    async setFreeze(ledgerAccountId, freeze) {
      if (freeze === null) await accounts.updateOne({ _id: ledgerAccountId }, { $unset: { frozen: '' } }, options);
      else {
        const filter = { _id: ledgerAccountId, frozen: { $exists: false } };
        await accounts.updateOne(filter, { $set: { frozen: freeze } }, options);
      }
    },
    ...checkpointsOn(database, session),
  };
}

function checkpointsOn(
  database: BillingDatabase,
  session: ClientSession | undefined,
): Pick<
  LedgerSession,
  'entriesOf' | 'firstEntriesOf' | 'findCheckpoint' | 'advanceCheckpoint' | 'replaceCheckpoint' | 'saveRecount'
> {
  const entries = driverCollection<LedgerEntryDocument>(database, database.ledgerEntries);
  const checkpoints = driverCollection<LedgerCheckpointDocument>(database, database.ledgerCheckpoints);
  const options = session ? { session } : {};
  const ofEpochs = (ledgerAccountId: string, { from, before }: { from: number; before: number }) => ({
    ledgerAccountId,
    epoch: { $gte: from, $lt: before },
  });
  return {
    entriesOf: (id, epochs) => entries.find(ofEpochs(id, epochs), { ...options, batchSize: ENTRIES_AT_ONCE }),
    firstEntriesOf: (id, { most, ...epochs }) =>
      entries
        .find(ofEpochs(id, epochs), { ...options, batchSize: ENTRIES_AT_ONCE })
        .sort({ epoch: 1 })
        .limit(most)
        .toArray(),
    findCheckpoint: (id) => checkpoints.findOne({ _id: id }, options),
    // With another checkpoint, such as a later one, the upsert finds its id taken.
    advanceCheckpoint: (id, sums, generation) =>
      ifAbsent(() =>
        checkpoints.updateOne(
          { ...ofGeneration(id, generation), epoch: { $lt: sums.epoch } },
          { $set: sums },
          { ...options, upsert: generation === undefined },
        ),
      ),
    replaceCheckpoint: ({ _id, ...checkpoint }, { generation, counting }) =>
      ifAbsent(() =>
        checkpoints.replaceOne({ ...ofGeneration(_id, generation), ...(counting && { counting }) }, checkpoint, {
          ...options,
          upsert: generation === undefined,
        }),
      ),
    async saveRecount({ _id, generation }, recount, at) {
      const change =
        recount === null ? { $unset: { recount: '' as const }, $set: { recountedAt: at } } : { $set: { recount } };
      await checkpoints.updateOne(ofGeneration(_id, generation), change, options);
    },
  };
}

/** Filter for a checkpoint of this generation. An upsert would store a null, but not that a field does not exist. */
function ofGeneration(_id: string, generation: number | undefined): mongo.Filter<LedgerCheckpointDocument> {
  return { _id, generation: generation ?? { $exists: false } };
}

const ENTRIES_AT_ONCE = 1_000;

function projectionOf(keys: readonly string[]): Record<string, 1> {
  return Object.fromEntries([...FIGURES, ...keys.map(markerPath)].map((path) => [path, 1]));
}

/** Account fields that are read in addition to markers. */
const FIGURES = [
  'epoch',
  'availableMicros',
  'heldMicros',
  'creditedMicros',
  'billedMicros',
  'spendDay',
  'spentMicros',
  'frozen',
  'markerCount',
];

/** Operation keys consist of [A-Za-z0-9_~-], so they are safe as field names. */
function markerPath(key: string): string {
  return `markers.${key}`;
}

interface AccountChange {
  filter: mongo.Filter<LedgerAccountDocument>;
  /** Typed loosely because field names contain operation keys. */
  change: mongo.UpdateFilter<mongo.Document>;
}

function decision(update: Extract<AccountUpdate, { kind: 'decide' }>): AccountChange {
  const { frozen, ...ranges } = update.guard;
  const guard = Object.entries(ranges).map(([figure, { atLeast, below }]) => [
    figure,
    { ...(atLeast === undefined ? {} : { $gte: atLeast }), ...(below === undefined ? {} : { $lt: below }) },
  ]);
  const { also, expected } = update;
  const added = 1 + Number(also !== undefined);
  return {
    filter: {
      _id: update.ledgerAccountId,
      epoch: update.epoch,
      [markerPath(update.key)]: { $exists: false },
      ...(also && { [markerPath(also.key)]: { $exists: false } }),
      ...(expected && conditionsOf(expected)),
      markerCount: { $lt: update.maxMarkers - added + 1 },
      ...(frozen === undefined ? {} : { frozen: { $exists: frozen } }),
      ...Object.fromEntries(guard),
    },
    change: {
      $inc: { ...update.increments, markerCount: added },
      $set: { [markerPath(update.key)]: update.marker, ...(also && { [markerPath(also.key)]: also.marker }) },
    },
  };
}

function conditionsOf({ key, last, ...values }: ExpectedMarker): mongo.Filter<LedgerAccountDocument> {
  const path = markerPath(key);
  const exact = Object.entries(values).map(([name, value]) => [`${path}.${name}`, value]);
  return { ...Object.fromEntries(exact), [`${path}.last`]: last ? true : { $exists: false } };
}

function removal(update: Extract<AccountUpdate, { kind: 'sweep' }>): AccountChange {
  return {
    filter: { _id: update.ledgerAccountId, epoch: update.epoch },
    change: {
      $unset: Object.fromEntries(update.keys.map((key) => [markerPath(key), ''])),
      $inc: { epoch: 1, markerCount: -update.keys.length },
    },
  };
}

async function ifAbsent(insert: () => Promise<unknown>): Promise<void> {
  try {
    await insert();
  } catch (error) {
    if (!isDuplicateKey(error) || hasOtherWriteErrors(error)) throw error;
  }
}

/** Whether an insert of several documents failed for another reason, too. */
function hasOtherWriteErrors(error: unknown): boolean {
  const { writeErrors = [] } = error as { writeErrors?: readonly { code?: unknown }[] | { code?: unknown } };
  return [writeErrors].flat().some((each) => !isDuplicateKey(each));
}
