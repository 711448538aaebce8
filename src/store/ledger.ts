import type { Micros } from '../domain/money.js';
import type { Database } from './database.js';
import { auditAccount, balanceOf, type Balance, type LedgerAudit } from './ledger-audit.js';
import { createSharedSweeps, randomPause, readAccount, sweep, type LedgerWork } from './ledger-decide.js';
import {
  hold,
  settle,
  topUp,
  type HoldAnswer,
  type HoldRequest,
  type SettleRequest,
  type Settlement,
  type TopUpRequest,
} from './ledger-operations.js';
import { createLedgerStorage, type LedgerStorage } from './ledger-storage.js';
import type { LedgerAccountDocument } from './models/ledger.js';

export { LedgerBusyError } from './ledger-decide.js';
export type { Balance, LedgerAudit } from './ledger-audit.js';
export type { HoldAnswer, HoldRequest, SettleRequest, Settlement, TopUpRequest } from './ledger-operations.js';

export interface Ledger {
  /** Opens an account with no money in it, unless it exists. */
  open(ledgerAccountId: string): Promise<void>;
  /**
   * Credits a payment once, however often it is told of.
   * @throws ServiceError IDEMPOTENCY_CONFLICT when the payment is known with another amount
   */
  topUp(p: TopUpRequest): Promise<{ amountMicros: Micros }>;
  /**
   * Decides window `window` of a call; the same answer on every repeat.
   * @throws LedgerBusyError (ask again) when the window before it is not decided, or the account found no quiet moment
   */
  hold(p: HoldRequest): Promise<HoldAnswer>;
  /**
   * Ends a call's holds and bills `billedSeconds` (whole; 0 voids), at most what is held. The first settlement stands:
   * every repeat gets its answer.
   * @throws LedgerBusyError (ask again)
   */
  settle(p: SettleRequest): Promise<Settlement>;
  balance(ledgerAccountId: string): Promise<Balance>;
  /** Compares the account with the sum of its operations, while others go on writing. */
  audit(ledgerAccountId: string): Promise<LedgerAudit>;
  /** The ids of every ledger account, or of one customer's. */
  accounts(accountId?: string): Promise<string[]>;
  /** Writes out the entries of an account's latest operations; happens by itself on busy accounts. */
  sweep(ledgerAccountId: string): Promise<void>;
}

/** Exactly-once money on single-document atomicity, in MongoDB. See `ledger-decide.ts` for why it is exact. */
export function createLedger(database: Database): Ledger {
  return createLedgerOn(createLedgerStorage(database));
}

/** The same ledger on any storage that is atomic per document; `pause` is the wait between attempts. */
export function createLedgerOn(storage: LedgerStorage, pause: LedgerWork['pause'] = randomPause): Ledger {
  const sharedSweep = createSharedSweeps();
  const onWork = <T>(operation: (work: LedgerWork) => Promise<T>) =>
    storage.consistently((session) => operation({ session, pause, sweepOnce: (id) => sharedSweep(session, id) }));
  return {
    open: (ledgerAccountId) => storage.consistently((session) => session.insertAccount(newAccount(ledgerAccountId))),
    topUp: (p) => onWork((work) => topUp(work, p)),
    hold: (p) => onWork((work) => hold(work, p)),
    settle: (p) => onWork((work) => settle(work, p)),
    balance: (id) => storage.consistently(async (session) => balanceOf(await readAccount(session, id, []))),
    audit: (id) => storage.consistently((session) => auditAccount(session, id)),
    accounts: async (accountId) => {
      const ids = await storage.consistently((session) => session.listAccounts());
      return accountId === undefined ? ids : ids.filter((id) => id.startsWith(`${accountId}~`));
    },
    sweep: (id) => storage.consistently((session) => sweep(session, id)),
  };
}

function newAccount(ledgerAccountId: string): LedgerAccountDocument {
  const amounts = { availableMicros: 0, heldMicros: 0, creditedMicros: 0, billedMicros: 0 };
  return { _id: ledgerAccountId, epoch: 0, ...amounts, markerCount: 0, markers: {} };
}
