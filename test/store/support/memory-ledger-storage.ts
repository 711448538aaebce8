import { setImmediate as nextTurn } from 'node:timers/promises';
import type { AccountUpdate, LedgerSession, LedgerStorage } from '../../../src/store/ledger-storage.js';
import type { LedgerAccountDocument, LedgerEntryDocument } from '../../../src/store/models/ledger.js';

/** A storage that is atomic per document and nothing more; every operation lets others run first. */
export function createMemoryLedgerStorage(): LedgerStorage & {
  accounts: Map<string, LedgerAccountDocument>;
  entries: Map<string, LedgerEntryDocument>;
} {
  const accounts = new Map<string, LedgerAccountDocument>();
  const entries = new Map<string, LedgerEntryDocument>();

  const session: LedgerSession = {
    async findAccount(id, keys) {
      await nextTurn();
      const account = accounts.get(id);
      if (!account) return null;
      const markers = Object.entries(account.markers).filter(([key]) => keys === 'all' || keys.includes(key));
      return structuredClone({ ...account, markers: Object.fromEntries(markers) });
    },
    async findEntry(key) {
      await nextTurn();
      return structuredClone(entries.get(key) ?? null);
    },
    async findEntryKeys(keys) {
      await nextTurn();
      return new Set(keys.filter((key) => entries.has(key)));
    },
    async insertEntry(entry) {
      await nextTurn();
      if (!entries.has(entry._id)) entries.set(entry._id, structuredClone(entry));
    },
    async listAccounts() {
      await nextTurn();
      return [...accounts.keys()].toSorted();
    },
    async insertAccount(account) {
      await nextTurn();
      if (!accounts.has(account._id)) accounts.set(account._id, structuredClone(account));
    },
    async updateAccount(update) {
      await nextTurn();
      const account = accounts.get(update.ledgerAccountId);
      return account !== undefined && apply(account, update);
    },
    async *entriesBefore(id, epoch) {
      await nextTurn();
      for (const entry of entries.values()) {
        if (entry.ledgerAccountId === id && entry.epoch < epoch) yield structuredClone(entry);
      }
    },
  };
  return { accounts, entries, consistently: (work) => work(session) };
}

function apply(account: LedgerAccountDocument, update: AccountUpdate): boolean {
  if (account.epoch !== update.epoch) return false;
  if (update.kind === 'sweep') {
    for (const key of update.keys) delete account.markers[key];
    account.markerCount -= update.keys.length;
    account.epoch++;
    return true;
  }
  if (update.key in account.markers || account.markerCount >= update.maxMarkers) return false;
  for (const [name, { atLeast = -Infinity, below = Infinity }] of Object.entries(update.guard)) {
    const amount = account[name as keyof typeof update.guard];
    if (amount < atLeast || amount >= below) return false;
  }
  for (const [name, change] of Object.entries(update.increments)) account[name as keyof typeof update.guard] += change;
  account.markers[update.key] = structuredClone(update.marker);
  account.markerCount++;
  return true;
}
