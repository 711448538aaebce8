import type { Micros } from '../../kernel/money.js';
import { readAccount } from './decide.js';
import { beginCount, countEntries } from './counting.js';
import { addSums, createSums, EMPTY_SUMS, sumsOf, type Sums } from './sums.js';
import type { LedgerSession } from './storage.js';
import type { LedgerAccountDocument, LedgerCheckpointDocument, LedgerSums } from './model.js';

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

/** A finished audit since a checkpoint. */
export interface LedgerAuditSince extends LedgerAudit {
  /**
   * Present if the account did not match when it was last compared with all of its operations. `same`: it still differs by
   * the same amounts. `ended`: it matches now.
   */
  knownDifference?: 'same' | 'ended';
  /** True if all of the operations were counted again from their entries, so that the result needs no other audit. */
  confirmed?: true;
}

/** The result of a step. `unfinished`: more old entries are left to count, so nothing can be said about the account yet. */
export type LedgerAuditStep = LedgerAuditSince | 'unfinished';

export interface AuditStepOptions {
  /** A checkpoint is moved when this many operations have been added to it. */
  checkpointEvery: number;
  /** Maximum number of old entries that the step reads. */
  most: number;
  /** The time, from which the next recount is reckoned. */
  at: Date;
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
export async function auditAccount(
  session: LedgerSession,
  ledgerAccountId: string,
  most: number,
): Promise<LedgerAudit> {
  for (let counted = EMPTY_SUMS; ;) {
    const account = await readOperations(session, ledgerAccountId);
    const since = isContinuedBy(counted, account) ? counted : EMPTY_SUMS;
    const { audit, complete } = await compare(session, account, since, most);
    if (audit !== undefined) return audit;
    counted = complete;
  }
}

/**
 * Compares an account with the sum of its operations like `auditAccount`, but takes the sums of old entries from the
 * checkpoint that an earlier audit stored. So the cost depends on the number of new operations. A recount reads the old
 * entries again from time to time. The checkpoint of an account with a difference moves, too, as long as the difference is
 * the one that `auditFromEntries` has found.
 *
 * A step reads a limited number of entries. If more are left, it moves the checkpoint and compares nothing: the sums of old
 * entries are final, whether or not the account matches them.
 */
export async function auditSinceCheckpoint(
  session: LedgerSession,
  ledgerAccountId: string,
  step: AuditStepOptions,
): Promise<LedgerAuditStep> {
  const checkpoint = await session.findCheckpoint(ledgerAccountId);
  if (checkpoint?.counting) return auditInCount(session, checkpoint, step);
  const since = checkpoint === null ? EMPTY_SUMS : sumsOf(checkpoint);
  const account = await readOperations(session, ledgerAccountId);
  const { audit, complete } = await compare(session, account, since, step.most);
  const advance = () => session.advanceCheckpoint(ledgerAccountId, complete, checkpoint?.generation);
  if (audit === undefined) {
    if (checkpoint === null) await beginCount(session, { _id: ledgerAccountId }, complete);
    else await advance();
    return 'unfinished';
  }
  const known = checkpoint?.difference;
  const isSame = !audit.balanced && known === differenceOf(audit);
  const isDue = complete.operationCount - since.operationCount >= step.checkpointEvery;
  if ((audit.balanced || isSame) && isDue) await advance();
  if (isSame) return { ...audit, knownDifference: 'same' };
  return audit.balanced && known !== undefined ? { ...audit, knownDifference: 'ended' } : audit;
}

/**
 * Compares an account with all its operations, counted again from their entries. While that takes further steps, the
 * checkpoint has what is counted and `auditSinceCheckpoint` continues.
 */
export async function auditFromEntries(
  session: LedgerSession,
  ledgerAccountId: string,
  step: AuditStepOptions,
): Promise<LedgerAuditStep> {
  const checkpoint = await session.findCheckpoint(ledgerAccountId);
  const count = checkpoint?.counting ? checkpoint : await beginCount(session, checkpoint ?? { _id: ledgerAccountId });
  return auditInCount(session, count, step);
}

/**
 * Takes the next step of a count. If no entries are left, compares the account, and stores the sums with the difference that
 * it has found. So later audits read only newer operations, whether or not the account matches.
 */
async function auditInCount(
  session: LedgerSession,
  stored: LedgerCheckpointDocument,
  { most, at }: AuditStepOptions,
): Promise<LedgerAuditStep> {
  const { _id } = stored;
  const account = await readOperations(session, _id);
  const { generation, ...count } = isContinuedBy(stored, account) ? stored : await beginCount(session, stored);
  const { audit, complete } = await compare(session, account, sumsOf(count), most);
  if (audit === undefined) {
    await session.advanceCheckpoint(_id, complete, generation);
    return 'unfinished';
  }
  const difference = audit.balanced ? {} : { difference: differenceOf(audit) };
  const checkpoint = {
    _id,
    ...complete,
    ...(generation !== undefined && { generation }),
    ...difference,
    recountedAt: at,
  };
  await session.replaceCheckpoint(checkpoint, { generation, counting: true });
  return { ...audit, confirmed: true };
}

/** An account, its markers, and the first epoch that may still get entries: that of a marker or the account's current one. */
type AccountOperations = LedgerAccountDocument & { completeEpoch: number };

async function readOperations(session: LedgerSession, ledgerAccountId: string): Promise<AccountOperations> {
  const account = await readAccount(session, ledgerAccountId, 'all');
  const epochs = Object.values(account.markers).map((marker) => marker.epoch);
  return { ...account, completeEpoch: Math.min(account.epoch, ...epochs) };
}

/** Whether sums may be continued. Not after the account went back, for example with a restored database. */
function isContinuedBy(counted: LedgerSums, account: AccountOperations): boolean {
  return !(counted.epoch > account.completeEpoch || counted.spendDay > account.spendDay);
}

/**
 * @param since sums of the operations before their epoch, which are not read again
 * @param most maximum number of entries to read of the complete epochs. The others are only one or two.
 * @returns the sums of all operations before the complete epoch and the result. If more entries are left, only the sums of
 * those that were read.
 */
async function compare(
  session: LedgerSession,
  account: AccountOperations,
  since: LedgerSums,
  most: number,
): Promise<{ audit?: LedgerAudit; complete: LedgerSums }> {
  const { _id, epoch, completeEpoch, markers, spendDay } = account;
  const complete = await countEntries(session, _id, since, { before: completeEpoch, spendDay, most });
  if (complete.epoch < completeEpoch) return { complete };
  const latest = createSums(EMPTY_SUMS, spendDay);
  const from = Math.max(since.epoch, completeEpoch);
  if (from < epoch) {
    for await (const entry of session.entriesOf(_id, { from, before: epoch })) {
      if (!(entry._id in markers)) latest.add(entry);
    }
  }
  for (const marker of Object.values(markers)) latest.add(marker);
  return { audit: resultOf(account, addSums(complete, latest.read(epoch))), complete };
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
