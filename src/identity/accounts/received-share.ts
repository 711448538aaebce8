import type { Micros } from '../../kernel/money.js';
import type { LiveLimits } from '../../platform/config/live-limits.js';
import type { Direction } from '../../kernel/call-state.js';
import type { Mode } from '../../kernel/ids.js';
import { limitsOf, type Limits } from './accounts.js';
import type { AccountDocument } from './model.js';

/**
 * Received calls are rejected when this percentage of a limit is used that placed and received calls share. The rest is
 * for calls that the account places. Otherwise many calls to a number of the account could keep it from placing any.
 */
const RECEIVED_PERCENT = 80;

/**
 * Returns how much of a shared limit may be used when a call of this direction is accepted: all of it for a placed
 * call, 80 % for a received call, rounded down. But at least 1 unless the limit is 0, so that an account with one
 * concurrency slot can still receive calls.
 */
export function usableLimit(limit: number, direction: Direction): number {
  if (direction === 'outbound') return limit;
  return Math.max(Math.min(limit, 1), Math.floor((limit * RECEIVED_PERCENT) / 100));
}

/**
 * Returns how many concurrency slots, and how much of the account's spending per day, may be used when a call is
 * accepted or continues.
 * @param defaults the service's limits
 */
export function limitsOfCall(
  account: AccountDocument,
  { mode, direction }: { mode: Mode; direction: Direction },
  defaults: { liveLimits: LiveLimits | undefined; testSpendCapMicros: Micros | undefined },
): Pick<Limits, 'concurrentCalls' | 'dailySpendCapMicros'> {
  const { concurrentCalls, dailySpendCapMicros: cap } = limitsOf(
    account,
    mode,
    defaults.liveLimits,
    defaults.testSpendCapMicros,
  );
  return {
    concurrentCalls: usableLimit(concurrentCalls, direction),
    ...(cap === undefined ? {} : { dailySpendCapMicros: usableLimit(cap, direction) }),
  };
}
