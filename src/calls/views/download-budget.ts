import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Ledger } from '../../billing/ledger/ledger.js';
import { ServiceError } from '../../kernel/errors.js';
import { ledgerAccountId, type Mode } from '../../kernel/ids.js';
import { MICROS_PER_USD } from '../../kernel/money.js';
import { driverCollection } from '../../platform/mongo/driver-collection.js';
import { secondsLeftOfDay } from '../../telephony/destinations/account-counts.js';
import { createPeriodCounts, type PeriodCountDocument } from '../../platform/mongo/period-counts.js';
import type { CallsDatabase } from '../database.js';

/** The fewest bytes that a process counts in the database at once, so that most downloads need no command. */
export const DOWNLOAD_STEP_BYTES = 64_000_000;
/**
 * Further bytes per day for each USD that the account was ever billed. At 0.15 USD a minute this is 20 times what was
 * recorded.
 */
export const DOWNLOAD_BYTES_PER_USD = 250_000_000;
/** How long a process rejects downloads without asking the database again. */
const REJECT_FOR_MS = 30_000;

interface Download {
  accountId: string;
  mode: Mode;
  bytes: number;
}

/** The budget of an account and mode for one day, as this process knows it. */
interface Budget {
  /** Bytes that this process has counted in the database, and those of them that are not used. */
  countedBytes: number;
  availableBytes: number;
  rejectUntil: number;
}

export type DownloadBudgets = ReturnType<typeof createDownloadBudgets>;

/**
 * Limits the bytes of recordings that an account downloads per UTC day, because the operator pays for them. Test and
 * live mode have separate budgets. Live accounts get more for what they were billed.
 * @param p.bytesPerDay absent: no limit, and nothing is counted
 */
export function createDownloadBudgets(p: {
  database: CallsDatabase;
  ledger: Pick<Ledger, 'balance'>;
  bytesPerDay: number | undefined;
  now?: () => Date;
}) {
  const { database, ledger, bytesPerDay, now = () => new Date() } = p;
  const documents = driverCollection<PeriodCountDocument>(database, database.destinationCounts);
  const counts = createPeriodCounts(documents, now);
  const budgets = new Map<string, Budget>();
  let day = '';

  function budgetOf(key: string): Budget {
    const today = now().toISOString().slice(0, 'YYYY-MM-DD'.length);
    if (today !== day) budgets.clear();
    day = today;
    const budget = budgets.get(key) ?? { countedBytes: 0, availableBytes: 0, rejectUntil: 0 };
    budgets.set(key, budget);
    return budget;
  }

  async function count({ accountId, mode, bytes: amount }: Download, limit: number): Promise<boolean> {
    const _id = `${accountId}~${mode}~downloads~day`;
    const entry = { _id, period: 'day' as const, member: randomUUID(), amount };
    if (await counts.add({ ...entry, limit })) return true;
    if (mode === 'test') return false;
    const { billedMicros } = await ledger.balance(ledgerAccountId(accountId, mode));
    const more = Math.floor((billedMicros / MICROS_PER_USD) * DOWNLOAD_BYTES_PER_USD);
    return counts.add({ ...entry, limit: limit + more });
  }

  return {
    /**
     * Takes a download from the budget before it begins. The last download of a day may exceed the budget.
     * @returns function that returns unsent bytes to the budget
     * @throws ServiceError RATE_LIMIT_EXCEEDED if the budget of the day is used up
     */
    async take(download: Download): Promise<(unsentBytes: number) => void> {
      if (bytesPerDay === undefined) return () => undefined;
      const { accountId, mode, bytes } = download;
      const budget = budgetOf(`${accountId} ${mode}`);
      if (budget.availableBytes < bytes) {
        if (now().getTime() < budget.rejectUntil) throw budgetUsedUp(now());
        // Each step is stored, so steps grow with the downloads.
        const step = Math.max(bytes, DOWNLOAD_STEP_BYTES, Math.ceil(budget.countedBytes / 10));
        if (!(await count({ ...download, bytes: step }, bytesPerDay))) {
          budget.rejectUntil = now().getTime() + REJECT_FOR_MS;
          throw budgetUsedUp(now());
        }
        budget.countedBytes += step;
        budget.availableBytes += step;
      }
      budget.availableBytes -= bytes;
      return (unsentBytes) => void (budget.availableBytes += unsentBytes);
    },
  };
}

/** Calls `report` once the response is over, with the part of a body of `bytes` that was not sent. */
export function reportUnsent(res: ServerResponse, bytes: number, report: (unsentBytes: number) => void): void {
  const { socket } = res;
  if (socket === null || res.closed || res.destroyed) return report(bytes);
  const before = socket.bytesWritten;
  res.once('close', () => report(Math.max(0, bytes - (socket.bytesWritten - before))));
}

function budgetUsedUp(now: Date): ServiceError {
  const message =
    'The account has downloaded as many bytes of recordings as it may on this UTC day. Store the recordings that you ' +
    'need repeatedly, try again the next day, or ask the operator for a higher limit.';
  return new ServiceError('RATE_LIMIT_EXCEEDED', message, {}, secondsLeftOfDay(now));
}
