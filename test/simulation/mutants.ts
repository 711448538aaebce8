import { HOLD_WINDOW_SECONDS } from '../../src/kernel/hold-windows.js';
import type { AccountUpdate, LedgerSession } from '../../src/billing/ledger/storage.js';
import type { LedgerAccountDocument, LedgerEntryDocument, LedgerMarker } from '../../src/billing/ledger/model.js';
import type { UpdateChange } from '../support/store/memory-ledger-storage.js';
import { LEDGER_ACCOUNT_ID, numberOfKey, rateOfKey, type CallFacts } from './facts.js';
import {
  constantSeconds,
  correctionAtDefault,
  firstMinuteAtDefault,
  laterWindowsAtDefault,
  settlementAtDefault,
} from './rate-mutants.js';

/**
 * A ledger without one of its precautions. It proves that the simulation finds the resulting fault. A mutant is placed
 * between the real code and its storage: it changes an operation (`session`), or an update at the moment of its
 * execution (`update`).
 */
export interface Mutant {
  /** Matches the expected violation. If the simulation reports another one, that proves nothing about this mutant. */
  caughtBy: RegExp;
  session?(session: LedgerSession, facts: CallFacts): Partial<LedgerSession>;
  update?: UpdateChange;
}

type Decision = Extract<AccountUpdate, { kind: 'decide' }>;

export const MUTANTS: Record<string, Mutant> = {
  'the epoch is not checked': {
    caughtBy: /is applied twice/,
    update: (update, account) => (update.kind === 'decide' ? { ...update, epoch: account.epoch } : update),
  },
  'a sweep does not move the epoch': {
    caughtBy: /is applied twice/,
    update(update, account) {
      if (update.kind === 'sweep' && update.epoch === account.epoch) account.epoch--;
      return update.kind === 'sweep' ? { ...update, epoch: update.epoch - 1 } : update;
    },
  },
  'the journal is read before the epoch': { caughtBy: /is applied twice/, session: journalFirst },
  'an update without a read has no epoch in its filter': {
    caughtBy: /is applied twice/,
    session: withoutEarlyEpoch,
    update: onDecision((update, account) =>
      update.epoch === ANY_EPOCH
        ? { ...update, epoch: account.epoch, marker: { ...update.marker, epoch: account.epoch } }
        : update,
    ),
  },
  'the journal is skipped with a later epoch': { caughtBy: /is applied twice/, session: skippedJournal },
  'a settlement without a read does not check the first window': {
    caughtBy: /is settled for|stay held|a figure is negative/,
    update: onDecision((update) => {
      const { expected: _, ...unchecked } = update;
      return unchecked;
    }),
  },
  'a settlement without a read does not check the second window': {
    caughtBy: /is applied twice|stay held/,
    update: onDecision((update, account) => {
      if (update.also && update.also.key in account.markers && update.epoch === account.epoch) {
        delete account.markers[update.also.key];
        account.markerCount--;
      }
      return update;
    }),
  },
  'a sweep writes no rows': {
    caughtBy: /has no row/,
    session: () => ({ findEntryKeys: async (keys) => new Set(keys) }),
  },
  'an update does not require its marker to be absent': {
    caughtBy: /is applied twice/,
    update(update, account) {
      if (update.kind === 'decide' && update.epoch === account.epoch && update.key in account.markers) {
        delete account.markers[update.key];
        account.markerCount--;
      }
      return update;
    },
  },
  'guards are not checked': {
    caughtBy: /a figure is negative/,
    update: onDecision((update) => ({ ...update, guard: {} })),
  },
  'the daily limit is checked only in advance': {
    caughtBy: /more is spent in a day than allowed/,
    update: onDecision((update) => {
      const { spentMicros: _, ...guard } = update.guard;
      return { ...update, guard };
    }),
  },
  'spending is counted for any day': {
    caughtBy: /audit/,
    update: onDecision((update) => {
      const { spendDay: _, ...guard } = update.guard;
      return { ...update, guard };
    }),
  },
  'a freeze is checked only in advance': {
    caughtBy: /a frozen account starts a call/,
    update: onDecision((update) => {
      const { frozen: _, ...guard } = update.guard;
      return { ...update, guard };
    }),
  },
  'a rejected hold leaves no tombstone': {
    caughtBy:
      /two answers to hold .*"grantedSeconds":0.*"grantedSeconds":[1-9]|two answers to hold .*"grantedSeconds":[1-9].*"grantedSeconds":0/,
    session: (session) => withoutCells(session, ({ refused }) => refused === true),
  },
  'a settlement leaves no tombstone': {
    caughtBy: /stay held/,
    session: (session) => withoutCells(session, (marker) => marker.void === true),
  },
  'a settlement writes its tombstone last': { caughtBy: /stay held/, session: tombstoneLast },
  'a settlement covers only the windows known to its caller': {
    caughtBy: /stay held/,
    session: (session, facts) => blindSettlement(session, (callId) => facts.knownWindows.get(callId) ?? 0),
  },
  'a void covers only the first window': {
    caughtBy: /stay held/,
    session: (session, facts) =>
      blindSettlement(session, (callId) => (facts.billedSeconds.get(callId) === 0 ? 1 : HOLD_WINDOW_SECONDS.length)),
  },
  'a partial window is not the last': { caughtBy: /after its last/, session: partialIsNotLast },
  'a window does not wait for the previous one': { caughtBy: /stay held|after its last/, session: noPredecessor },
  'a checkpoint covers operations that have no entry yet': {
    caughtBy: /an audit since a checkpoint fails|an audit of all entries fails|a recount fails/,
    session: (session) => ({
      advanceCheckpoint: async (id, sums, generation) => {
        const account = await session.findAccount(id, []);
        await session.advanceCheckpoint(id, { ...sums, epoch: account?.epoch ?? sums.epoch }, generation);
      },
    }),
  },
  'a step that began with a wrong checkpoint continues a count': {
    caughtBy: /an audit of all entries fails/,
    session: (session) => ({
      advanceCheckpoint: async (id, sums) => {
        const stored = await session.findCheckpoint(id);
        await session.advanceCheckpoint(id, sums, stored?.generation);
      },
    }),
  },
  'a step takes some entries of an epoch for all of them': {
    caughtBy: /an audit since a checkpoint fails|an audit of all entries fails/,
    session: (session) => ({
      firstEntriesOf: async (id, p) => (await session.firstEntriesOf(id, p)).slice(0, Math.max(1, p.most - 1)),
    }),
  },
  'a settlement bills at the default rate': { caughtBy: /is billed/, session: settlementAtDefault },
  'the first minute is checked and held at the default rate': {
    caughtBy: /not a minute/,
    session: firstMinuteAtDefault,
  },
  'later windows are held at the default rate': { caughtBy: /carries the price/, session: laterWindowsAtDefault },
  'seconds are counted at a constant rate': { caughtBy: /is told of/, session: constantSeconds },
  'a correction removes seconds at the default rate': { caughtBy: /is corrected to/, session: correctionAtDefault },
};

function onDecision(change: (update: Decision, account: LedgerAccountDocument) => AccountUpdate): UpdateChange {
  return (update, account) => (update.kind === 'decide' ? change(update, account) : update);
}

const ANY_EPOCH = -1;

/** Takes the epoch out of every update before which nothing was read. */
function withoutEarlyEpoch(session: LedgerSession): Partial<LedgerSession> {
  let hasRead = false;
  const change = (update: AccountUpdate) => (hasRead ? update : { ...update, epoch: ANY_EPOCH });
  return {
    findAccount(id, keys) {
      hasRead = true;
      return session.findAccount(id, keys);
    },
    updateAccount: (update) => session.updateAccount(change(update)),
    updateAndRead: (update, keys) => session.updateAndRead(change(update), keys),
  };
}

/** Looks for no entry of an operation whose call knows any epoch, although the account may have a later one. */
function skippedJournal(session: LedgerSession, { withKnownEpoch }: CallFacts): Partial<LedgerSession> {
  const isSkipped = (key: string) => /^[HS]/.test(key) && withKnownEpoch.has(key.slice(1).replace(/~\d+$/, ''));
  return { findEntry: async (key) => (isSkipped(key) ? null : session.findEntry(key)) };
}

/**
 * Reads the journal entry of the operation's key before the account. Wrongly trusts this entry, although it may be
 * outdated when the account is read.
 */
function journalFirst(session: LedgerSession): Partial<LedgerSession> {
  const early = new Map<string, LedgerEntryDocument | null>();
  return {
    async findAccount(id, keys) {
      const [key] = keys === 'all' ? [] : keys;
      if (key !== undefined) early.set(key, await session.findEntry(key));
      return session.findAccount(id, keys);
    },
    async findEntry(key) {
      const entry = early.get(key);
      if (entry === undefined) return session.findEntry(key);
      early.delete(key);
      return entry;
    },
  };
}

/** Reports some markers as written without writing them. */
function withoutCells(session: LedgerSession, isLeftOut: (marker: LedgerMarker) => boolean): Partial<LedgerSession> {
  return {
    updateAccount: async (update) =>
      (update.kind === 'decide' && isLeftOut(update.marker)) || session.updateAccount(update),
    insertEntry: async (entry) => {
      if (!isLeftOut(entry)) await session.insertEntry(entry);
    },
  };
}

/** Writes the tombstones of a settlement only after the settlement itself. */
function tombstoneLast(session: LedgerSession): Partial<LedgerSession> {
  const waiting: AccountUpdate[] = [];
  const entries: LedgerEntryDocument[] = [];
  return {
    async updateAccount(update) {
      if (update.kind === 'decide' && update.marker.void) {
        waiting.push(update);
        return true;
      }
      const isDone = await session.updateAccount(update);
      if (isDone && update.kind === 'decide' && update.marker.type === 'settlement') {
        for (const tombstone of waiting.splice(0)) {
          const isWritten = await session.updateAccount(tombstone);
          const [entry] = entries.splice(0);
          if (isWritten && entry) await session.insertEntry(entry);
        }
      }
      return isDone;
    },
    insertEntry: async (entry) => {
      if (entry.void) entries.push(entry);
      else await session.insertEntry(entry);
    },
  };
}

/**
 * Makes a settlement cover only the windows that its caller knows. To the settlement, every later window looks like a
 * tombstone.
 */
function blindSettlement(session: LedgerSession, known: (callId: string) => number): Partial<LedgerSession> {
  let settled: string | undefined;
  const isHidden = (key: string) => {
    if (settled === undefined || !key.startsWith(`H${settled}~`)) return false;
    return Number(key.slice(key.lastIndexOf('~') + 1)) >= known(settled);
  };
  return {
    async findAccount(id, keys) {
      if (keys !== 'all' && keys[0]?.startsWith('S')) settled = keys[0].slice(1);
      const account = await session.findAccount(id, keys);
      if (!account) return account;
      const markers = Object.entries(account.markers).filter(([key]) => !isHidden(key));
      return { ...account, markers: Object.fromEntries(markers) };
    },
    async findEntry(key) {
      if (!isHidden(key)) return session.findEntry(key);
      const cell = { type: 'hold' as const, amountMicros: 0, void: true, epoch: 0, at: new Date(0) };
      return { _id: key, ledgerAccountId: LEDGER_ACCOUNT_ID, ...cell };
    },
  };
}

function partialIsNotLast(session: LedgerSession, facts: CallFacts): Partial<LedgerSession> {
  const open = <T extends LedgerMarker>(key: string, marker: T): T => {
    const full = (HOLD_WINDOW_SECONDS[numberOfKey(key)] ?? 0) * rateOfKey(facts, key);
    if (marker.type !== 'hold' || !marker.last || (marker.amountMicros ?? 0) >= full) return marker;
    const { last: _, ...rest } = marker;
    return rest as T;
  };
  return {
    updateAccount: (update) =>
      session.updateAccount(update.kind === 'decide' ? { ...update, marker: open(update.key, update.marker) } : update),
    insertEntry: (entry) => session.insertEntry(open(entry._id, entry)),
  };
}

/** Assumes that every earlier window without a decision is granted. */
function noPredecessor(session: LedgerSession, facts: CallFacts): Partial<LedgerSession> {
  let before: readonly string[] | undefined;
  return {
    findAccount(id, keys) {
      if (keys !== 'all') before ??= keys;
      return session.findAccount(id, keys);
    },
    async findEntry(key) {
      const entry = await session.findEntry(key);
      if (entry || !key.startsWith('H') || !before?.includes(key) || before[0] !== firstOf(key)) return entry;
      const microsPerSecond = rateOfKey(facts, key);
      const amountMicros = (HOLD_WINDOW_SECONDS[numberOfKey(key)] ?? 0) * microsPerSecond;
      const cell = { type: 'hold' as const, amountMicros, microsPerSecond, epoch: 0, at: new Date(0) };
      return { _id: key, ledgerAccountId: LEDGER_ACCOUNT_ID, ...cell };
    },
  };
}

/**
 * The key of a call's first window. To decide a later window, the ledger reads all windows from the first one on. To
 * decide the first window, it reads only that one.
 */
function firstOf(key: string): string {
  return key.replace(/~\d+$/, '~0');
}
