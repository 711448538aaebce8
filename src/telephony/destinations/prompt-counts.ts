import { driverCollection } from '../../platform/mongo/driver-collection.js';
import type { LiveLimits } from '../../platform/config/live-limits.js';
import { ServiceError } from '../../kernel/errors.js';
import type { Direction } from '../../kernel/call-state.js';
import { MICROS_PER_USD } from '../../kernel/money.js';
import { createLedger } from '../../billing/ledger/ledger.js';
import { limitsOf } from '../../identity/accounts/accounts.js';
import type { TelephonyDatabase } from '../database.js';
import { secondsLeftOfDay, type ReceivedCall } from './account-counts.js';
import { dialFieldName } from './dial-legs.js';
import { createPeriodCounts, type PeriodCountDocument } from '../../platform/mongo/period-counts.js';
import { isCoveredBySpending } from './spending-cover.js';

/** Bytes of prompts that an account's live calls may have in a UTC day, however little the calls are billed. */
export const FREE_PROMPT_BYTES = 8 * 1_024 * 1_024;

/**
 * Further bytes of prompts for each USD that the account spends on live calls in the day. A text has no more tokens
 * than bytes, so at 0.40 USD per million tokens these prompts cost at most 0.84 USD per USD spent. A minute of talk at
 * 0.15 USD pays for 307 KiB.
 */
export const PROMPT_BYTES_PER_USD = 2 * 1_024 * 1_024;

export type PromptCounts = ReturnType<typeof createPromptCounts>;

/** A live call and the length of the prompt that its engine receives when the call is answered. */
export interface PromptedCall extends ReceivedCall {
  /** Bytes in UTF-8; absent: none. */
  promptBytes?: number;
}

/**
 * Counts the prompts of an account's live calls per UTC day. The operator pays for a whole prompt even if the call, and
 * therefore its bill, has only one second.
 * @param p.liveLimits absent where live calls cost the operator nothing; then prompts are not counted
 */
export function createPromptCounts(
  database: TelephonyDatabase,
  { liveLimits }: { liveLimits: LiveLimits | undefined },
) {
  const documents = driverCollection<PeriodCountDocument>(database, database.destinationCounts);
  const now = () => new Date();
  const counts = createPeriodCounts(documents, now);
  const ledger = createLedger(database);
  const idOf = (accountId: string) => `${accountId}~live~prompts~day`;

  return {
    /**
     * Adds the prompt's bytes to the account's count of the day, once per call. Accounts without a limit of calls per day
     * have no such count. Placed and received calls share the count; received calls may use only a part of its limit.
     * @returns RATE_LIMIT_EXCEEDED when the account's prompts of this day are far longer than its spending covers
     */
    async count(
      { account, mode, callId, promptBytes = 0 }: PromptedCall,
      direction: Direction,
    ): Promise<ServiceError | undefined> {
      if (mode === 'test' || promptBytes === 0) return undefined;
      if (limitsOf(account, mode, liveLimits).liveCallsPerDay === undefined) return undefined;
      const entry = {
        _id: idOf(account._id),
        period: 'day' as const,
        member: dialFieldName({ callId }),
        amount: promptBytes,
      };
      const isCovered = await isCoveredBySpending({
        ledger,
        accountId: account._id,
        direction,
        free: FREE_PROMPT_BYTES,
        paidBy: (billed) => Math.floor((billed / MICROS_PER_USD) * PROMPT_BYTES_PER_USD),
        fits: (limit) => counts.add({ ...entry, limit }),
      });
      return isCovered ? undefined : promptsExceeded(now());
    },

    /** Removes the prompt of a call from the count, once, because the call was not placed or not accepted. */
    async release({ account, mode, callId, promptBytes = 0 }: PromptedCall): Promise<void> {
      if (mode === 'test' || promptBytes === 0 || liveLimits === undefined) return;
      await counts.remove(idOf(account._id), dialFieldName({ callId }), { amount: promptBytes });
    },
  };
}

function promptsExceeded(now: Date): ServiceError {
  const message =
    'The prompts of the live calls of this account have reached their size limit for this UTC day. Shorten the ' +
    'instruction, the tools or the parameters, try again the next day, or ask the operator for a higher limit.';
  return new ServiceError('RATE_LIMIT_EXCEEDED', message, {}, secondsLeftOfDay(now));
}
