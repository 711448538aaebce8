import { driverCollection } from '../../platform/mongo/driver-collection.js';
import type { LiveLimits } from '../../platform/config/live-limits.js';
import { ServiceError } from '../../kernel/errors.js';
import { ledgerAccountId } from '../../kernel/ids.js';
import { MICROS_PER_USD } from '../../kernel/money.js';
import { createLedger } from '../../billing/ledger/ledger.js';
import { limitsOf } from '../../identity/accounts/accounts.js';
import type { TelephonyDatabase } from '../database.js';
import { secondsLeftOfDay, type ReceivedCall } from './account-counts.js';
import { memberOf } from './dial-legs.js';
import type { PeriodCountDocument } from './model.js';
import { createPeriodCounts } from './period-counts.js';

/** Bytes of prompts that an account's live calls may bring in a UTC day whatever they are billed. */
export const FREE_PROMPT_BYTES = 8 * 1_024 * 1_024;

/**
 * Further bytes for each USD that the account has spent on live calls in the day. A text has no more tokens than bytes,
 * so at 0.40 USD per million tokens a prompt costs at most 0.84 USD for each USD; a minute at 0.15 USD has 307 KiB.
 */
export const PROMPT_BYTES_PER_USD = 2 * 1_024 * 1_024;

export type PromptCounts = ReturnType<typeof createPromptCounts>;

/** A live call, and the length of the prompt that its engine is sent when the call is answered. */
export interface PromptedCall extends ReceivedCall {
  /** UTF-8; absent: none. */
  promptBytes?: number;
}

/**
 * Counts the prompts of an account's live calls per UTC day. The operator pays for a prompt however short its call is,
 * and a call of a second is billed a second.
 * @param p.liveLimits absent where live calls use the simulated carrier; those are not counted
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
     * Counts the prompt of a call once; not for accounts that may have any number of calls a day.
     * @returns RATE_LIMIT_EXCEEDED when the account's prompts of this day are far longer than what it has spent covers
     */
    async count({ account, mode, callId, promptBytes = 0 }: PromptedCall): Promise<ServiceError | undefined> {
      if (mode === 'test' || promptBytes === 0) return undefined;
      if (limitsOf(account, mode, liveLimits).liveCallsPerDay === undefined) return undefined;
      const place = { _id: idOf(account._id), period: 'day' as const, member: memberOf({ callId }), by: promptBytes };
      if (await counts.add({ ...place, limit: FREE_PROMPT_BYTES })) return undefined;
      const spent = await ledger.spentToday(ledgerAccountId(account._id, mode));
      const limit = FREE_PROMPT_BYTES + Math.floor((spent / MICROS_PER_USD) * PROMPT_BYTES_PER_USD);
      return (await counts.add({ ...place, limit })) ? undefined : tooLong(now());
    },

    /** Removes the prompt of a call that was not placed or accepted, once. */
    async release({ account, mode, callId, promptBytes = 0 }: PromptedCall): Promise<void> {
      if (mode === 'test' || promptBytes === 0 || liveLimits === undefined) return;
      await counts.remove(idOf(account._id), memberOf({ callId }), { by: promptBytes });
    },
  };
}

function tooLong(now: Date): ServiceError {
  const message =
    'The prompts of the account\u2019s live calls of this UTC day are too long for how short the calls are. Shorten the ' +
    'instruction, the tools or the parameters, try again on the next day, or ask the operator for a higher limit.';
  return new ServiceError('RATE_LIMIT_EXCEEDED', message, {}, secondsLeftOfDay(now));
}
