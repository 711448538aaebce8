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
  /** Number of operations summed up. */
  operationCount: number;
  /** Number of operations whose amount is not a number of whole seconds at the price recorded in them. */
  mispriced: number;
}

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
 * entries again from time to time.
 */
export async function auditSinceCheckpoint(
  session: LedgerSession,
  ledgerAccountId: string,
  checkpointEvery: number,
): Promise<LedgerAudit> {
  const checkpoint = (await session.findCheckpoint(ledgerAccountId)) ?? EMPTY_SUMS;
  const { audit, complete } = await compare(session, ledgerAccountId, checkpoint);
  if (audit.balanced && complete.operationCount - checkpoint.operationCount >= checkpointEvery) {
    await session.advanceCheckpoint(ledgerAccountId, complete);
  }
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

function resultOf(account: Balance & Pick<LedgerAccountDocument, 'spentMicros'>, sums: Sums): LedgerAudit {
  const { creditedMicros, billedMicros, heldMicros, operationCount, mispriced } = sums;
  const availableMicros = creditedMicros - billedMicros - heldMicros;
  const operations: Balance = { availableMicros, heldMicros, creditedMicros, billedMicros };
  const amounts = balanceOf(account);
  const balanced = isBalanced(amounts, operations) && sums.spentMicros === account.spentMicros && mispriced === 0;
  return { balanced, account: amounts, operations, operationCount, mispriced };
}

/** Picks the four amounts of an account. */
export function balanceOf(account: Balance): Balance {
  const { availableMicros, heldMicros, creditedMicros, billedMicros } = account;
  return { availableMicros, heldMicros, creditedMicros, billedMicros };
}

function isBalanced(account: Balance, operations: Balance): boolean {
  const amounts = ['availableMicros', 'heldMicros', 'creditedMicros', 'billedMicros'] as const;
  const { creditedMicros, billedMicros, availableMicros, heldMicros } = account;
  return (
    amounts.every((name) => Number.isSafeInteger(account[name]) && account[name] >= 0) &&
    amounts.every((name) => account[name] === operations[name]) &&
    creditedMicros - billedMicros === availableMicros + heldMicros
  );
}
