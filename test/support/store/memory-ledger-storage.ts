import { setImmediate as nextTurn } from 'node:timers/promises';
import type {
  AccountUpdate,
  ExpectedMarker,
  LedgerSession,
  LedgerStorage,
} from '../../../src/billing/ledger/storage.js';
import type {
  LedgerAccountDocument,
  LedgerCheckpointDocument,
  LedgerEntryDocument,
  LedgerMarker,
} from '../../../src/billing/ledger/model.js';

/** Decides when an operation on the storage runs, and runs it. */
export type Execute = <T>(name: string, key: string, operation: () => T) => Promise<T>;

export interface LedgerCells {
  accounts: Map<string, LedgerAccountDocument>;
  entries: Map<string, LedgerEntryDocument>;
  checkpoints: Map<string, LedgerCheckpointDocument>;
}

/**
 * A storage in memory. Only an operation on one document is atomic. Every operation first lets other operations run.
 */
export function createMemoryLedgerStorage(): LedgerStorage & LedgerCells {
  const cells: LedgerCells = { accounts: new Map(), entries: new Map(), checkpoints: new Map() };
  const session = sessionOn(cells, async (_name, _key, operation) => {
    await nextTurn();
    return operation();
  });
  return { ...cells, consistently: (work) => work(session) };
}

/** Changes an update right before it is executed. Mutants of the ledger use this. */
export type UpdateChange = (update: AccountUpdate, account: LedgerAccountDocument) => AccountUpdate;

/** Creates a session in which every operation is one atomic step, which `execute` schedules. */
export function sessionOn(
  cells: LedgerCells,
  execute: Execute,
  change: UpdateChange = (update) => update,
): LedgerSession {
  const { accounts, entries } = cells;
  return {
    findAccount: (id, keys) => execute('findAccount', id, () => copyOf(accounts.get(id), keys)),
    findEntry: (key) => execute('findEntry', key, () => copy(entries.get(key))),
    findEntryKeys: (keys) =>
      execute('findEntryKeys', String(keys.length), () => new Set(keys.filter((key) => entries.has(key)))),
    insertEntry: (entry) =>
      execute('insertEntry', entry._id, () => {
        if (!entries.has(entry._id)) entries.set(entry._id, { ...entry });
      }),
    // Each entry is a separate step, because a server that fails may have inserted some of them.
    async insertEntries(missing) {
      for (const entry of missing) await this.insertEntry(entry);
    },
    listAccounts: (accountId) =>
      execute('listAccounts', '', () =>
        [...accounts.keys()].filter((id) => accountId === undefined || id.startsWith(`${accountId}~`)).toSorted(),
      ),
    insertAccount: (account) =>
      execute('insertAccount', account._id, () => {
        if (!accounts.has(account._id)) accounts.set(account._id, { ...account, markers: { ...account.markers } });
      }),
    updateAccount: (update) =>
      execute(`updateAccount ${update.kind}`, keyOf(update), () => {
        const account = accounts.get(update.ledgerAccountId);
        return account !== undefined && applyTo(account, change(update, account));
      }),
    updateAndRead: (update, keys) =>
      execute(`updateAccount ${update.kind}`, keyOf(update), () => {
        const account = accounts.get(update.ledgerAccountId);
        if (account === undefined || !applyTo(account, change(update, account))) return null;
        return copyOf(account, keys)?.markers ?? null;
      }),
    setFreeze: (id, freeze) =>
      execute('setFreeze', id, () => {
        const account = accounts.get(id);
        if (freeze === null) delete account?.frozen;
        else if (account) account.frozen ??= freeze;
      }),
    ...checkpointsOn(cells, execute),
  };
}

function checkpointsOn({ entries, checkpoints }: LedgerCells, execute: Execute) {
  const ofEpochs = (id: string, from: number, before: number) =>
    [...entries.values()].filter(
      (entry) => entry.ledgerAccountId === id && entry.epoch >= from && entry.epoch < before,
    );
  return {
    async *entriesOf(id, { from, before }) {
      // Reads two pages, as a cursor does. So an entry that is inserted in between may or may not be found.
      const pages = [(key: string) => key < 'M', (key: string) => key >= 'M'];
      for (const isOnPage of pages) {
        yield* await execute('entriesOf', id, () => ofEpochs(id, from, before).filter(({ _id }) => isOnPage(_id)));
      }
    },
    firstEntriesOf: (id, { from, before, most }) =>
      execute('firstEntriesOf', id, () =>
        ofEpochs(id, from, before)
          .toSorted((a, b) => a.epoch - b.epoch)
          .slice(0, most),
      ),
    findCheckpoint: (id) => execute('findCheckpoint', id, () => copy(checkpoints.get(id))),
    advanceCheckpoint: (id, sums, generation) =>
      execute('advanceCheckpoint', id, () => {
        const stored = checkpoints.get(id);
        if (stored?.generation !== generation || (stored !== undefined && stored.epoch >= sums.epoch)) return;
        checkpoints.set(id, { ...stored, ...sums, _id: id });
      }),
    replaceCheckpoint: (checkpoint, { generation, counting }) =>
      execute('replaceCheckpoint', checkpoint._id, () => {
        const stored = checkpoints.get(checkpoint._id);
        if (stored?.generation !== generation || (counting && !stored?.counting)) return;
        checkpoints.set(checkpoint._id, { ...checkpoint });
      }),
    saveRecount: ({ _id: id, generation }, recount, at) =>
      execute('saveRecount', id, () => {
        const { recount: _, ...stored } = checkpoints.get(id) ?? {};
        if (!('_id' in stored) || stored.generation !== generation) return;
        checkpoints.set(id, { ...stored, ...(recount === null ? { recountedAt: at } : { recount }) });
      }),
  } satisfies Partial<LedgerSession>;
}

/** The keys of the operations that an update decides, separated by spaces. */
function keyOf(update: AccountUpdate): string {
  if (update.kind === 'sweep') return `epoch ${update.epoch}`;
  return update.also === undefined ? update.key : `${update.key} ${update.also.key}`;
}

function copy<T extends object>(document: T | undefined): T | null {
  return document ? { ...document } : null;
}

/** Copies an account. Its markers need no copy, because they never change. */
function copyOf(account: LedgerAccountDocument | undefined, keys: readonly string[] | 'all') {
  if (!account) return null;
  if (keys === 'all') return { ...account, markers: { ...account.markers } };
  const markers: LedgerAccountDocument['markers'] = {};
  for (const key of keys) {
    const marker = account.markers[key];
    if (marker) markers[key] = marker;
  }
  return { ...account, markers };
}

function applyTo(account: LedgerAccountDocument, update: AccountUpdate): boolean {
  if (account.epoch !== update.epoch) return false;
  if (update.kind === 'sweep') {
    for (const key of update.keys) delete account.markers[key];
    account.markerCount -= update.keys.length;
    account.epoch++;
    return true;
  }
  const { also, expected } = update;
  const added = 1 + Number(also !== undefined);
  if (update.key in account.markers || account.markerCount + added > update.maxMarkers) return false;
  if (also && also.key in account.markers) return false;
  if (expected && !isAsExpected(account.markers[expected.key], expected)) return false;
  const { frozen, ...ranges } = update.guard;
  if (frozen !== undefined && frozen !== (account.frozen !== undefined)) return false;
  for (const [name, { atLeast = -Infinity, below = Infinity }] of Object.entries(ranges)) {
    const figure = account[name as keyof typeof ranges];
    if (figure < atLeast || figure >= below) return false;
  }
  for (const [name, change] of Object.entries(update.increments)) account[name as keyof typeof ranges] += change;
  account.markers[update.key] = { ...update.marker };
  if (also) account.markers[also.key] = { ...also.marker };
  account.markerCount += added;
  return true;
}

function isAsExpected(marker: LedgerMarker | undefined, expected: ExpectedMarker): boolean {
  return (
    marker?.amountMicros === expected.amountMicros &&
    marker.microsPerSecond === expected.microsPerSecond &&
    marker.spendDay === expected.spendDay &&
    (expected.last ? marker.last === true : marker.last === undefined)
  );
}
