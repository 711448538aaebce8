import { driverCollection } from '../../platform/mongo/driver-collection.js';
import type { LiveLimits } from '../../platform/config/live-limits.js';
import { ServiceError } from '../../kernel/errors.js';
import type { Direction } from '../../kernel/call-state.js';
import type { Mode } from '../../kernel/ids.js';
import type { Micros } from '../../kernel/money.js';
import { createLedger } from '../../billing/ledger/ledger.js';
import { limitsOf } from '../../identity/accounts/accounts.js';
import { usableLimit } from '../../identity/accounts/received-share.js';
import type { TelephonyDatabase } from '../database.js';
import { secondsLeftOfDay, type ReceivedCall } from './account-counts.js';
import { dialFieldName } from './dial-legs.js';
import { createPeriodCounts, type PeriodCountDocument } from '../../platform/mongo/period-counts.js';
import { isCoveredBySpending } from './spending-cover.js';

/**
 * How much more the engines of an account's live calls may cost in a UTC day than the account has spent in that day.
 */
export const FREE_ENGINE_MICROS: Micros = 8_000_000;

export type EngineCosts = ReturnType<typeof createEngineCosts>;

/** The cost of the engine of one stream of a call. */
export interface EngineCost {
  accountId: string;
  mode: Mode;
  callId: string;
  /** The stream number. */
  stream: number;
  /** The cost of the stream so far. */
  micros: Micros;
  /** The part of the cost that was counted before; 0 by default. */
  countedMicros?: Micros;
}

/**
 * Sums up the cost of the engines of an account's calls per UTC day. Many short calls can cost the operator more than
 * they are billed, because providers charge for speech and replies that are never heard.
 * @param p.liveLimits absent where live calls cost the operator nothing; then costs of live calls are not counted
 * @param p.testSpendCapMicros what the engines of test calls may cost; absent: these costs are not counted
 */
export function createEngineCosts(
  database: TelephonyDatabase,
  { liveLimits, testSpendCapMicros }: { liveLimits: LiveLimits | undefined; testSpendCapMicros: Micros | undefined },
) {
  const documents = driverCollection<PeriodCountDocument>(database, database.destinationCounts);
  const now = () => new Date();
  const counts = createPeriodCounts(documents, now);
  const ledger = createLedger(database);
  const idOf = (accountId: string, mode: Mode) => `${accountId}~${mode}~engines~day`;
  const isCounted = (mode: Mode) => (mode === 'test' ? testSpendCapMicros : liveLimits) !== undefined;
  const period = 'day' as const;

  return {
    /** Counts the cost of a stream so far, without the part that is counted already. */
    async add({ accountId, mode, callId, stream, micros, countedMicros = 0 }: EngineCost): Promise<void> {
      const total = Math.ceil(micros);
      if (!isCounted(mode) || total <= 0) return;
      const member = `${dialFieldName({ callId })}_${stream}`;
      await counts.raise({ _id: idOf(accountId, mode), period, member, total, counted: Math.ceil(countedMicros) });
    },

    /**
     * Checks the cost of an account's engines before a new call. Accounts without a limit of live calls per day are not
     * checked. Placed and received calls have one sum. Received calls are rejected before it reaches the limit.
     * @returns RATE_LIMIT_EXCEEDED when the engines of this day's live calls have cost far more than the account has
     * spent; SPEND_LIMIT_EXCEEDED when those of test calls have cost the daily limit
     */
    async findError({ account, mode, callId }: ReceivedCall, direction: Direction): Promise<ServiceError | undefined> {
      const entry = { _id: idOf(account._id, mode), period, member: `${dialFieldName({ callId })}_0` };
      if (mode === 'test') {
        const limit = testSpendCapMicros === undefined ? undefined : usableLimit(testSpendCapMicros, direction);
        return limit === undefined || (await counts.hasRoom({ ...entry, limit })) ? undefined : testCostsExceeded();
      }
      if (limitsOf(account, mode, liveLimits).liveCallsPerDay === undefined) return undefined;
      const isCovered = await isCoveredBySpending({
        ledger,
        accountId: account._id,
        direction,
        free: FREE_ENGINE_MICROS,
        paidBy: (billed) => billed,
        fits: (limit) => counts.hasRoom({ ...entry, limit }),
      });
      return isCovered ? undefined : costsExceeded(now());
    },
  };
}

function testCostsExceeded(): ServiceError {
  const message =
    'On this UTC day, the voice engines of the test calls of this account have cost as much as the operator allows. ' +
    'Try again the next day, or ask the operator for a higher limit.';
  return new ServiceError('SPEND_LIMIT_EXCEEDED', message);
}

function costsExceeded(now: Date): ServiceError {
  const message =
    "On this UTC day, the voice engines of the account's live calls have cost far more than the account was billed. " +
    'Place fewer short calls, interrupt the agent less, try again the next day, or ask the operator for a higher limit.';
  return new ServiceError('RATE_LIMIT_EXCEEDED', message, {}, secondsLeftOfDay(now));
}
