import type { ClientSession, mongo } from 'mongoose';
import { isDuplicateKey } from '../../platform/mongo/connection.js';
import { driverCollection } from '../../platform/mongo/driver-collection.js';
import type { BillingDatabase } from '../database.js';
import type { LedgerAccountDocument, LedgerEntryDocument, LedgerFreeze, LedgerMarker } from './model.js';

/** The four amounts that an operation may move; each operation keeps credited - billed = available + held. */
export type LedgerAmount = 'availableMicros' | 'heldMicros' | 'creditedMicros' | 'billedMicros';

/** Every figure of an account that an operation may change; the day's spending stands beside the equation. */
export type LedgerFigure = LedgerAmount | 'spendDay' | 'spentMicros';

/** A condition on a figure, checked in the same atomic step as the change. */
export interface AmountRange {
  atLeast?: number;
  below?: number;
}

export type AccountGuard = Partial<Record<LedgerFigure, AmountRange>> & {
  /** Whether the account must be frozen, or must not. */
  frozen?: boolean;
};

/** One atomic, conditional change of one account document. */
export type AccountUpdate =
  | {
      kind: 'decide';
      ledgerAccountId: string;
      /** The account's epoch as it was read before the journal; the change is refused at any other. */
      epoch: number;
      key: string;
      marker: LedgerMarker;
      increments: Partial<Record<LedgerFigure, number>>;
      guard: AccountGuard;
      /** The change is refused when the document carries this many markers. */
      maxMarkers: number;
    }
  | { kind: 'sweep'; ledgerAccountId: string; epoch: number; keys: readonly string[] };

/**
 * All that the ledger asks of its storage: atomic changes of single documents, and reads that see what was written
 * before them. Small, so that a simulation of lost replies and late writes can stand in for it.
 */
export interface LedgerSession {
  /** The account with the markers of these keys only, or with every marker. */
  findAccount(ledgerAccountId: string, keys: readonly string[] | 'all'): Promise<LedgerAccountDocument | null>;
  findEntry(key: string): Promise<LedgerEntryDocument | null>;
  /** Which of these keys have an entry. */
  findEntryKeys(keys: readonly string[]): Promise<ReadonlySet<string>>;
  /** Inserts unless an entry of this key exists. */
  insertEntry(entry: LedgerEntryDocument): Promise<void>;
  /** The ids of all accounts, in order. */
  listAccounts(): Promise<string[]>;
  /** Inserts unless the account exists. */
  insertAccount(account: LedgerAccountDocument): Promise<void>;
  /** @returns whether the change was made */
  updateAccount(update: AccountUpdate): Promise<boolean>;
  /** Sets the freeze of an account that has none, or with null lifts it. */
  setFreeze(ledgerAccountId: string, freeze: LedgerFreeze | null): Promise<void>;
  /** The account's entries of epochs before this one, in no particular order. */
  entriesBefore(ledgerAccountId: string, epoch: number): AsyncIterable<LedgerEntryDocument>;
}

export interface LedgerStorage {
  /** Runs work whose reads see each other's writes in order, also when the primary changes meanwhile. */
  consistently<T>(work: (session: LedgerSession) => Promise<T>): Promise<T>;
}

/**
 * The ledger's storage in MongoDB. A replica set gets one causally consistent session per piece of work, with the
 * majority concerns of `openDatabase`; a single or embedded server needs none.
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
    listAccounts: () =>
      accounts
        .find({}, { ...options, projection: { _id: 1 } })
        .sort({ _id: 1 })
        .map(({ _id }) => _id)
        .toArray(),
    insertAccount: (account) => ifAbsent(() => accounts.insertOne(account, options)),
    async updateAccount(update) {
      const { filter, change }: AccountChange = update.kind === 'decide' ? decision(update) : removal(update);
      const { matchedCount } = await accounts.updateOne(filter, change, options);
      return matchedCount === 1;
    },
    async setFreeze(ledgerAccountId, freeze) {
      if (freeze === null) await accounts.updateOne({ _id: ledgerAccountId }, { $unset: { frozen: '' } }, options);
      else {
        const filter = { _id: ledgerAccountId, frozen: { $exists: false } };
        await accounts.updateOne(filter, { $set: { frozen: freeze } }, options);
      }
    },
    entriesBefore: (ledgerAccountId, epoch) =>
      entries.find({ ledgerAccountId, epoch: { $lt: epoch } }, { ...options, batchSize: 1_000 }),
  };
}

function projectionOf(keys: readonly string[]): Record<string, 1> {
  return Object.fromEntries([...FIGURES, ...keys.map(markerPath)].map((path) => [path, 1]));
}

/** What is read of an account beside markers. */
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

/** Operation keys are made of [A-Za-z0-9_~-], so they are safe as field names. */
function markerPath(key: string): string {
  return `markers.${key}`;
}

interface AccountChange {
  filter: mongo.Filter<LedgerAccountDocument>;
  /** Typed loosely because the fields' names are operation keys. */
  change: mongo.UpdateFilter<mongo.Document>;
}

function decision(update: Extract<AccountUpdate, { kind: 'decide' }>): AccountChange {
  const { frozen, ...ranges } = update.guard;
  const guard = Object.entries(ranges).map(([figure, { atLeast, below }]) => [
    figure,
    { ...(atLeast === undefined ? {} : { $gte: atLeast }), ...(below === undefined ? {} : { $lt: below }) },
  ]);
  return {
    filter: {
      _id: update.ledgerAccountId,
      epoch: update.epoch,
      [markerPath(update.key)]: { $exists: false },
      markerCount: { $lt: update.maxMarkers },
      ...(frozen === undefined ? {} : { frozen: { $exists: frozen } }),
      ...Object.fromEntries(guard),
    },
    change: {
      $inc: { ...update.increments, markerCount: 1 },
      $set: { [markerPath(update.key)]: update.marker },
    },
  };
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
    if (!isDuplicateKey(error)) throw error;
  }
}
