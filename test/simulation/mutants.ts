import { HOLD_WINDOW_SECONDS } from '../../src/kernel/hold-windows.js';
import type { AccountUpdate, LedgerSession } from '../../src/billing/ledger/storage.js';
import type { LedgerEntryDocument, LedgerMarker } from '../../src/billing/ledger/model.js';
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
 * A ledger with one of its precautions taken out, to prove that the simulation would notice. Mutants stand between the
 * real code and its storage: what is sent or seen in one operation (`session`), or what is done at the moment an update
 * is executed (`update`).
 */
export interface Mutant {
  /** The violation that it must be caught by: found for another reason, it would prove nothing. */
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
  'a sweep writes no rows': {
    caughtBy: /has no row/,
    session: () => ({ findEntryKeys: async (keys) => new Set(keys) }),
  },
  'the marker is not asked to be absent': {
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
  'the daily limit is checked only when it is planned': {
    caughtBy: /more is spent in a day than allowed/,
    update: onDecision((update) => {
      const { spentMicros: _, ...guard } = update.guard;
      return { ...update, guard };
    }),
  },
  'spending is counted to whatever day it is': {
    caughtBy: /audit/,
    update: onDecision((update) => {
      const { spendDay: _, ...guard } = update.guard;
      return { ...update, guard };
    }),
  },
  'a freeze is checked only when it is planned': {
    caughtBy: /a frozen account starts a call/,
    update: onDecision((update) => {
      const { frozen: _, ...guard } = update.guard;
      return { ...update, guard };
    }),
  },
  'a refusal leaves no tombstone': {
    caughtBy:
      /two answers to hold .*"grantedSeconds":0.*"grantedSeconds":[1-9]|two answers to hold .*"grantedSeconds":[1-9].*"grantedSeconds":0/,
    session: (session) => withoutCells(session, ({ refused }) => refused === true),
  },
  'the end leaves no tombstone': {
    caughtBy: /stay held/,
    session: (session) => withoutCells(session, (marker) => marker.void === true),
  },
  'the tombstone comes after the sum': { caughtBy: /stay held/, session: tombstoneLast },
  'only the windows that its caller knew are settled': {
    caughtBy: /stay held/,
    session: (session, facts) => blindSettlement(session, (callId) => facts.knownWindows.get(callId) ?? 0),
  },
  'a void forgets the windows after the first': {
    caughtBy: /stay held/,
    session: (session, facts) =>
      blindSettlement(session, (callId) => (facts.billedSeconds.get(callId) === 0 ? 1 : HOLD_WINDOW_SECONDS.length)),
  },
  'a partial window is not the last': { caughtBy: /after its last/, session: partialGoesOn },
  'a window does not wait for the one before': { caughtBy: /stay held|after its last/, session: noPredecessor },
  'a settlement bills at the default rate': { caughtBy: /is billed/, session: settlementAtDefault },
  'a minute is tested and held at the default rate': { caughtBy: /not a minute/, session: firstMinuteAtDefault },
  'later windows are held at the default rate': { caughtBy: /carries the price/, session: laterWindowsAtDefault },
  'seconds are counted by a constant': { caughtBy: /is told of/, session: constantSeconds },
  'a correction takes seconds off at the default rate': { caughtBy: /is corrected to/, session: correctionAtDefault },
};

function onDecision(change: (update: Decision) => AccountUpdate): UpdateChange {
  return (update) => (update.kind === 'decide' ? change(update) : update);
}

/** The entry of the operation's key is read first, and believed although the account is read after it. */
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

/** Tells its caller that a cell was written that was not. */
function withoutCells(session: LedgerSession, isLeftOut: (marker: LedgerMarker) => boolean): Partial<LedgerSession> {
  return {
    updateAccount: async (update) =>
      (update.kind === 'decide' && isLeftOut(update.marker)) || session.updateAccount(update),
    insertEntry: async (entry) => {
      if (!isLeftOut(entry)) await session.insertEntry(entry);
    },
  };
}

/** Writes the tombstone of a settlement only when the settlement is through. */
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

/** A settlement that takes the number of windows from its caller: every later one looks like a tombstone to it. */
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

function partialGoesOn(session: LedgerSession, facts: CallFacts): Partial<LedgerSession> {
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

/** Takes for granted every earlier window that is not decided. */
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

/** Holds of a later window read the cells from the first on; the first window's own decision reads only itself. */
function firstOf(key: string): string {
  return key.replace(/~\d+$/, '~0');
}
