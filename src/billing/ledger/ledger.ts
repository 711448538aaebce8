import type { Micros } from '../../kernel/money.js';
import type { BillingDatabase } from '../database.js';
import { auditAccount, balanceOf, type Balance, type LedgerAudit } from './audit.js';
import { SWEEP_AT_MARKERS, createSharedSweeps, readAccount, sweep, type LedgerWork } from './decide.js';
import {
  checkedReason,
  correct,
  hold,
  settle,
  topUp,
  type CorrectionRequest,
  type HoldAnswer,
  type HoldRequest,
  type SettleRequest,
  type Settlement,
  type TopUpRequest,
} from './operations.js';
import { spendingAt } from './spending.js';
import { randomPause } from '../../platform/mongo/optimistic-update.js';
import { createLedgerStorage, type LedgerStorage } from './storage.js';
import { createOperationTurns } from './turns.js';
import type { LedgerAccountDocument, LedgerFreeze } from './model.js';

export { LedgerBusyError } from './decide.js';
export type { Balance, LedgerAudit } from './audit.js';
export type {
  CorrectionRequest,
  HoldAnswer,
  HoldRequest,
  SettleRequest,
  Settlement,
  TopUpRequest,
} from './operations.js';
export type { HoldRefusal, LedgerFreeze } from './model.js';

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
  /**
   * Gives back what a call was billed too much, as an entry of its own, once per number.
   * @throws ServiceError IDEMPOTENCY_CONFLICT when this number stands with another amount or reference; MISSING_PARAMS for a call
   * that is not settled, a gap in the numbers, or more than the call was billed
   */
  correct(p: CorrectionRequest): Promise<{ amountMicros: Micros }>;
  /**
   * Refuses first holds from now on, never an extension of a call that runs. The first reason stands until it is lifted.
   * A freeze or lift that was lost and arrives late wins over what came between: whoever freezes looks again.
   */
  freeze(ledgerAccountId: string, reason: string): Promise<void>;
  unfreeze(ledgerAccountId: string): Promise<void>;
  /** Why and since when an account is frozen; null: it is not. */
  frozen(ledgerAccountId: string): Promise<LedgerFreeze | null>;
  /** Billed and held of the UTC day, in micro-USD: what a daily cap is compared with. */
  spentToday(ledgerAccountId: string): Promise<Micros>;
  balance(ledgerAccountId: string): Promise<Balance>;
  /** Compares the account with the sum of its operations, while others go on writing. */
  audit(ledgerAccountId: string): Promise<LedgerAudit>;
  /** The ids of every ledger account, or of one customer's. */
  accounts(accountId?: string): Promise<string[]>;
  /** Writes out the entries of an account's latest operations; happens by itself on busy accounts. */
  sweep(ledgerAccountId: string): Promise<void>;
}

/** Exactly-once money on single-document atomicity, in MongoDB. See `decide.ts` for why it is exact. */
export function createLedger(database: BillingDatabase): Ledger {
  return createLedgerOn(createLedgerStorage(database));
}

/** Of one account in one process; more would only get into each other's way. */
const OPERATIONS_AT_ONCE = 16;

/** What a simulation replaces: the wait between attempts, the clock, and how early an account is swept. */
export type LedgerOptions = Partial<Pick<LedgerWork, 'pause' | 'now' | 'sweepAtMarkers'>>;

/** The same ledger on any storage that is atomic per document. */
export function createLedgerOn(storage: LedgerStorage, options: LedgerOptions = {}): Ledger {
  const sharedSweep = createSharedSweeps();
  const inTurn = createOperationTurns(OPERATIONS_AT_ONCE);
  const settings = { pause: randomPause, now: Date.now, sweepAtMarkers: SWEEP_AT_MARKERS, ...options };
  const onWork = <T>(ledgerAccountId: string, operation: (work: LedgerWork) => Promise<T>) =>
    inTurn(ledgerAccountId, () =>
      storage.consistently((session) =>
        operation({ session, ...settings, sweepOnce: (id) => sharedSweep(session, id) }),
      ),
    );
  return {
    open: (ledgerAccountId) => storage.consistently((session) => session.insertAccount(newAccount(ledgerAccountId))),
    topUp: (p) => onWork(p.ledgerAccountId, (work) => topUp(work, p)),
    hold: (p) => onWork(p.ledgerAccountId, (work) => hold(work, p)),
    settle: (p) => onWork(p.ledgerAccountId, (work) => settle(work, p)),
    correct: (p) => onWork(p.ledgerAccountId, (work) => correct(work, p)),
    freeze: (id, reason) =>
      storage.consistently(async (session) => {
        const freeze = { reason: checkedReason(reason), at: new Date() };
        await readAccount(session, id, []);
        await session.setFreeze(id, freeze);
      }),
    unfreeze: (id) => storage.consistently((session) => session.setFreeze(id, null)),
    frozen: (id) => storage.consistently(async (session) => (await readAccount(session, id, [])).frozen ?? null),
    spentToday: (id) =>
      storage.consistently(async (session) => spendingAt(await readAccount(session, id, []), settings.now()).micros),
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
  return { _id: ledgerAccountId, epoch: 0, ...amounts, spendDay: 0, spentMicros: 0, markerCount: 0, markers: {} };
}
