import type { Micros } from '../../kernel/money.js';
import { readAccount } from './decide.js';
import { addSums, createSums, EMPTY_SUMS, type Sums } from './sums.js';
import type { LedgerSession } from './storage.js';
import type { LedgerAccountDocument, LedgerSums } from './model.js';

export interface Balance {
  availableMicros: Micros;
  heldMicros: Micros;
  creditedMicros: Micros;
  billedMicros: Micros;
}

export interface LedgerAudit {
  /**
   * True when the account, including the day's spending, equals the sum of its operations exactly, no amount is
   * negative, and every hold and settlement consists of whole seconds at the price recorded in it.
   */
  balanced: boolean;
  /** Amounts of the account document. */
  account: Balance;
  /** Sums over the account's operations. */
  operations: Balance;
  /** The spending of the account's day, in days since 1970-01-01: as the account has it, and as its operations have it. */
  spending: { day: number; account: Micros; operations: Micros };
  /** Number of operations summed up. */
  operationCount: number;
  /** Number of operations whose amount is not a number of whole seconds at the price recorded in them. */
  mispriced: number;
}

/** An audit since a checkpoint. */
export interface LedgerAuditSince extends LedgerAudit {
  /**
   * Present if the account did not match when it was last compared with all of its operations. `same`: it still differs by
   * the same amounts. `ended`: it matches now.
   */
  knownDifference?: 'same' | 'ended';
}

const AMOUNTS = ['availableMicros', 'heldMicros', 'creditedMicros', 'billedMicros'] as const;

/** A checkpoint is moved when this many operations have been added to it. */
export const CHECKPOINT_EVERY = 1_000;

/**
 * Compares an account with the sum of all its operations. An operation is a marker in the account document until a sweep
 * leaves only its ledger entry and increments the document's epoch.
 *
 * The sum is exact during concurrent writes. The account is read once, at epoch e. Every operation of an earlier epoch
 * has an entry or is among the markers read, and every operation of epoch e is among the markers. So the markers and
 * the entries of epochs before e are exactly the operations that the account contained when it was read.
 */
export async function auditAccount(session: LedgerSession, ledgerAccountId: string): Promise<LedgerAudit> {
  return (await compare(session, ledgerAccountId, EMPTY_SUMS)).audit;
}

/**
 * Compares an account with the sum of its operations like `auditAccount`, but takes the sums of old entries from the
 * checkpoint that an earlier audit stored. So the cost depends on the number of new operations. A recount reads the old
 * entries again from time to time. The checkpoint of an account with a difference moves, too, as long as the difference is
 * the one that `auditWithoutCheckpoint` has found.
 */
export async function auditSinceCheckpoint(
  session: LedgerSession,
  ledgerAccountId: string,
  checkpointEvery: number,
): Promise<LedgerAuditSince> {
  const checkpoint = await session.findCheckpoint(ledgerAccountId);
  const since = checkpoint ?? EMPTY_SUMS;
  const { audit, complete } = await compare(session, ledgerAccountId, since);
  const known = checkpoint?.difference;
  const isSame = !audit.balanced && known === differenceOf(audit);
  if ((audit.balanced || isSame) && complete.operationCount - since.operationCount >= checkpointEvery) {
    await session.advanceCheckpoint(ledgerAccountId, complete);
  }
  if (isSame) return { ...audit, knownDifference: 'same' };
  return audit.balanced && known !== undefined ? { ...audit, knownDifference: 'ended' } : audit;
}

/**
 * Compares an account with all its operations, and replaces its checkpoint by the sums of these operations and the
 * difference that it has found. So later audits read only newer operations, whether or not the account matches.
 * @param at the time, from which the next recount is reckoned
 */
export async function auditWithoutCheckpoint(
  session: LedgerSession,
  ledgerAccountId: string,
  at: Date,
): Promise<LedgerAudit> {
  const { audit, complete } = await compare(session, ledgerAccountId, EMPTY_SUMS);
  const difference = audit.balanced ? {} : { difference: differenceOf(audit) };
  await session.replaceCheckpoint({ _id: ledgerAccountId, ...complete, ...difference, recountedAt: at });
  return audit;
}

/**
 * @param since sums of the operations before their epoch, which are not read again
 * @returns the result, and the sums of all operations before the first epoch that may still get entries: the epochs of
 * the markers and the account's current one
 */
async function compare(
  session: LedgerSession,
  ledgerAccountId: string,
  since: LedgerSums,
): Promise<{ audit: LedgerAudit; complete: LedgerSums }> {
  const { epoch, markers, ...account } = await readAccount(session, ledgerAccountId, 'all');
  const completeEpoch = Math.min(epoch, ...Object.values(markers).map((marker) => marker.epoch));
  const complete = createSums(since, account.spendDay);
  const latest = createSums(EMPTY_SUMS, account.spendDay);
  for await (const entry of session.entriesOf(ledgerAccountId, { from: since.epoch, before: epoch })) {
    if (entry.epoch < completeEpoch) complete.add(entry);
    else if (!(entry._id in markers)) latest.add(entry);
  }
  for (const marker of Object.values(markers)) latest.add(marker);
  const sums = addSums(complete.read(completeEpoch), latest.read(epoch));
  return { audit: resultOf(account, sums), complete: complete.read(completeEpoch) };
}

function resultOf(account: Balance & Pick<LedgerAccountDocument, 'spendDay' | 'spentMicros'>, sums: Sums): LedgerAudit {
  const { creditedMicros, billedMicros, heldMicros, operationCount, mispriced } = sums;
  const availableMicros = creditedMicros - billedMicros - heldMicros;
  const operations: Balance = { availableMicros, heldMicros, creditedMicros, billedMicros };
  const amounts = balanceOf(account);
  const spending = { day: account.spendDay, account: account.spentMicros, operations: sums.spentMicros };
  const balanced = isBalanced(amounts, operations) && spending.account === spending.operations && mispriced === 0;
  return { balanced, account: amounts, operations, spending, operationCount, mispriced };
}

/** Describes the difference between an account and its operations. Further operations do not change the text. */
function differenceOf({ account, operations, spending, mispriced }: LedgerAudit): string {
  const amounts = AMOUNTS.map((name) => account[name] - operations[name]);
  const spent = spending.account - spending.operations;
  // The spending begins at 0 each day, so the same amount on another day is another difference.
  return [...amounts, mispriced, spent === 0 ? 'none' : `${spent} on ${spending.day}`].join(' ');
}

/** Picks the four amounts of an account. */
export function balanceOf(account: Balance): Balance {
  const { availableMicros, heldMicros, creditedMicros, billedMicros } = account;
  return { availableMicros, heldMicros, creditedMicros, billedMicros };
}

function isBalanced(account: Balance, operations: Balance): boolean {
  const { creditedMicros, billedMicros, availableMicros, heldMicros } = account;
  return (
    invalidAmounts(account).length === 0 &&
    AMOUNTS.every((name) => account[name] === operations[name]) &&
    creditedMicros - billedMicros === availableMicros + heldMicros
  );
}

/** Returns the names of the amounts that are negative or no whole numbers. */
export function invalidAmounts(account: Balance): (keyof Balance)[] {
  return AMOUNTS.filter((name) => !Number.isSafeInteger(account[name]) || account[name] < 0);
}
