import type { Micros } from '../../kernel/money.js';
import type { BillingDatabase } from '../database.js';
import {
  auditAccount,
  auditFromEntries,
  auditSinceCheckpoint,
  balanceOf,
  CHECKPOINT_EVERY,
  type Balance,
  type LedgerAudit,
  type LedgerAuditStep,
} from './audit.js';
import { ENTRIES_PER_STEP } from './counting.js';
import { SWEEP_AT_MARKERS, createSharedSweeps, readAccount, sweep, type LedgerWork } from './decide.js';
import {
  validateReason,
  correct,
  hold,
  settle,
  topUp,
  type CorrectionRequest,
  type HoldResult,
  type HoldRequest,
  type SettleRequest,
  type Settlement,
  type TopUpRequest,
} from './operations.js';
import { recountCheckpoint } from './recount.js';
import { billedAt, spendingAt } from './spending.js';
import { randomPause } from '../../platform/mongo/optimistic-update.js';
import { createLedgerStorage, type LedgerStorage } from './storage.js';
import { createOperationQueues } from './operation-queues.js';
import type { LedgerAccountDocument, LedgerFreeze } from './model.js';

export { LedgerBusyError } from './decide.js';
export type { Balance, LedgerAudit, LedgerAuditStep } from './audit.js';
export type { FirstHold } from './early-decisions.js';
export type {
  CorrectionRequest,
  HoldResult,
  HoldRequest,
  SettleRequest,
  Settlement,
  TopUpRequest,
} from './operations.js';
export type { HoldRejection, LedgerFreeze } from './model.js';

export interface Ledger {
  /** Creates an empty account unless it exists. */
  open(ledgerAccountId: string): Promise<void>;
  /**
   * Credits a payment; idempotent.
   * @throws ServiceError IDEMPOTENCY_CONFLICT when the payment exists with another amount
   */
  topUp(p: TopUpRequest): Promise<{ amountMicros: Micros }>;
  /**
   * Grants or rejects window number `window` of a call. Repeats return the same result.
   * @throws LedgerBusyError (retry) when the previous window is undecided, or after too many conflicts with other
   * writers
   */
  hold(p: HoldRequest): Promise<HoldResult>;
  /**
   * Ends a call's holds and bills `billedSeconds`, a whole number, but at most the seconds held. With 0, the call costs
   * nothing. Repeats return the result of the first settlement.
   * @throws LedgerBusyError (retry) after too many conflicts with other writers
   */
  settle(p: SettleRequest): Promise<Settlement>;
  /**
   * Credits an overbilled amount with a separate entry, once per correction number.
   * @throws ServiceError IDEMPOTENCY_CONFLICT when the number exists with another amount or reference; MISSING_PARAMS
   * for a call that is not settled, a gap in the numbers, or more than the call was billed
   */
  correct(p: CorrectionRequest): Promise<{ amountMicros: Micros }>;
  /**
   * Rejects the first hold of every new call. Running calls may still get further holds. Freezing again keeps the first
   * reason. A delayed freeze or unfreeze can overwrite a later one, so check the result with `frozen`.
   */
  freeze(ledgerAccountId: string, reason: string): Promise<void>;
  unfreeze(ledgerAccountId: string): Promise<void>;
  /** Reads why and since when an account is frozen; null when it is not. */
  frozen(ledgerAccountId: string): Promise<LedgerFreeze | null>;
  /** Returns the amount billed and held on the current UTC day, for comparison with the daily cap. */
  spentToday(ledgerAccountId: string): Promise<Micros>;
  /**
   * Returns the amount billed on the current UTC day, and a quarter of the holds of calls in progress. Limits of what an
   * account costs use it, because most of a hold may be released again.
   */
  billedToday(ledgerAccountId: string): Promise<Micros>;
  balance(ledgerAccountId: string): Promise<Balance>;
  /**
   * Reads the balance, and the epoch of the account. Operations of a call that is stored afterwards may use the epoch as
   * their `knownEpoch`.
   */
  balanceAtEpoch(ledgerAccountId: string): Promise<Balance & { epoch: number }>;
  /** Compares the account with the sum of all its operations. Exact even during concurrent writes. */
  audit(ledgerAccountId: string): Promise<LedgerAudit>;
  /**
   * Does the same at the cost of the operations since the last such audits, and trusts their sums. If more old entries are
   * left than a step reads, it stores how far it came and returns `unfinished`.
   */
  auditNew(ledgerAccountId: string): Promise<LedgerAuditStep>;
  /**
   * Compares the account with all its operations after `auditNew` has found a difference that is not known. From then on
   * `auditNew` trusts the sums of this audit. The ones before may have been wrong, such as after a restore of the database.
   * If it is `unfinished`, `auditNew` continues it, and its first comparison is `confirmed`.
   */
  auditAgain(ledgerAccountId: string): Promise<LedgerAuditStep>;
  /**
   * Reads the next part of the old entries again, at most once a day each.
   * @returns false if they do not have the sums that `auditNew` trusts. `auditNew` then counts them from the first one on.
   */
  recount(ledgerAccountId: string): Promise<boolean>;
  /** Lists the ids of all ledger accounts, or of those of one customer account. */
  accounts(accountId?: string): Promise<string[]>;
  /** Moves an account's latest operations to ledger entries; busy accounts do this automatically. */
  sweep(ledgerAccountId: string): Promise<void>;
}

/**
 * Creates the ledger in MongoDB. It needs only atomic single-document updates; `decide.ts` explains why each operation
 * takes effect exactly once.
 */
export function createLedger(database: BillingDatabase): Ledger {
  return createLedgerOn(createLedgerStorage(database));
}

/** Maximum concurrent operations per account and process; more would only conflict with each other. */
const MAX_CONCURRENT_OPERATIONS = 16;

/** Parts that a simulation replaces: the pause between attempts, the clock, and sizes. */
export interface LedgerOptions extends Partial<Pick<LedgerWork, 'pause' | 'now' | 'sweepAtMarkers'>> {
  /** A checkpoint is moved when this many operations have been added to it. */
  checkpointEvery?: number;
  /** Maximum number of old entries that one step of an audit reads. */
  auditEntries?: number;
  /** Maximum number of entries that one step of a recount reads. */
  recountEntries?: number;
}

/** Creates the ledger on any storage with atomic document updates. */
export function createLedgerOn(storage: LedgerStorage, options: LedgerOptions = {}): Ledger {
  const sharedSweep = createSharedSweeps();
  const enqueue = createOperationQueues(MAX_CONCURRENT_OPERATIONS);
  const {
    checkpointEvery = CHECKPOINT_EVERY,
    auditEntries = ENTRIES_PER_STEP,
    recountEntries = ENTRIES_PER_STEP,
    ...replaced
  } = options;
  const settings = { pause: randomPause, now: Date.now, sweepAtMarkers: SWEEP_AT_MARKERS, ...replaced };
  const auditStep = () => ({ checkpointEvery, most: auditEntries, at: new Date(settings.now()) });
  const onWork = <T>(ledgerAccountId: string, operation: (work: LedgerWork) => Promise<T>) =>
    enqueue(ledgerAccountId, () =>
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
        const freeze = { reason: validateReason(reason), at: new Date() };
        await readAccount(session, id, []);
        await session.setFreeze(id, freeze);
      }),
    unfreeze: (id) => storage.consistently((session) => session.setFreeze(id, null)),
    frozen: (id) => storage.consistently(async (session) => (await readAccount(session, id, [])).frozen ?? null),
    spentToday: (id) =>
      storage.consistently(async (session) => spendingAt(await readAccount(session, id, []), settings.now()).micros),
    billedToday: (id) =>
      storage.consistently(async (session) => billedAt(await readAccount(session, id, []), settings.now())),
    balance: (id) => storage.consistently(async (session) => balanceOf(await readAccount(session, id, []))),
    balanceAtEpoch: (id) =>
      storage.consistently(async (session) => {
        const account = await readAccount(session, id, []);
        return { ...balanceOf(account), epoch: account.epoch };
      }),
    audit: (id) => storage.consistently((session) => auditAccount(session, id, auditEntries)),
    auditNew: (id) => storage.consistently((session) => auditSinceCheckpoint(session, id, auditStep())),
    auditAgain: (id) => storage.consistently((session) => auditFromEntries(session, id, auditStep())),
    recount: (id) =>
      storage.consistently((session) => recountCheckpoint(session, id, { now: settings.now(), most: recountEntries })),
    accounts: (accountId) => storage.consistently((session) => session.listAccounts(accountId)),
    sweep: (id) => storage.consistently((session) => sweep(session, id)),
  };
}

function newAccount(ledgerAccountId: string): LedgerAccountDocument {
  const amounts = { availableMicros: 0, heldMicros: 0, creditedMicros: 0, billedMicros: 0 };
  return { _id: ledgerAccountId, epoch: 0, ...amounts, spendDay: 0, spentMicros: 0, markerCount: 0, markers: {} };
}
