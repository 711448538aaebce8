import { setTimeout as sleep } from 'node:timers/promises';
import { limitsOf } from '../../identity/accounts/accounts.js';
import type { Principal } from '../../identity/access/principal.js';
import { ServiceError } from '../../kernel/errors.js';
import type { Config } from '../../platform/config/config.js';
import { serviceUnavailable } from '../../platform/http/deadline.js';
import { TEST_CALLS_PER_ACCOUNT, type PendingCall, type PendingReservations } from './pending-reservations.js';

export interface DecisionLimitDeps {
  config: Config;
  /** One object, shared by all requests of the process. */
  pending: PendingReservations;
}

/**
 * Pending calls (requested, not yet accepted or rejected) that an account may have beyond its limit of concurrent
 * calls. Each costs a workflow, although those beyond the limit are rejected in the end.
 */
const UNDECIDED_BEYOND_LIMIT = 8;
/** How long a test call waits until fewer calls are pending. A burst of calls is over sooner than that. */
const WAIT_MS = 500;
const POLL_INTERVAL_MS = 25;

/** If deciding about a call takes more than this share of its timeout, the decision counts as slow. */
const SLOW_SHARE = 1 / 2;

/**
 * Decides whether a call goes ahead. Limits how many calls may be pending (neither accepted nor rejected) at once, per
 * account and, for test calls, in the whole process.
 * @param decide stores and starts the call
 * @throws ServiceError CONCURRENCY_LIMIT_EXCEEDED, SERVICE_UNAVAILABLE, and what `decide` throws
 */
export async function decideWithinLimits<T>(
  { config, pending }: DecisionLimitDeps,
  { account, mode }: Pick<Principal, 'account' | 'mode'>,
  callId: string,
  decide: () => Promise<T>,
): Promise<T> {
  const call = { accountId: account._id, mode, callId };
  const accountLimit = limitsOf(account, mode, config.calls.liveLimits).concurrentCalls + UNDECIDED_BEYOND_LIMIT;
  const limit = mode === 'test' ? Math.min(accountLimit, TEST_CALLS_PER_ACCOUNT) : accountLimit;
  const release =
    tryEnter(pending, call, limit) ?? (mode === 'test' ? await waitToEnter(pending, call, limit) : undefined);
  if (release === undefined) throw rejectionOf(pending, call, limit);
  const since = performance.now();
  const slowMs = config.calls.answerWithinMs * SLOW_SHARE;
  const isSlow = () => performance.now() - since > slowMs;
  try {
    const decision = await decide();
    pending.recordDecision({ since, isSlow: isSlow() });
    return decision;
  } catch (error) {
    // A quick error does not show how long decisions take, so record only slow errors.
    if (isSlow()) pending.recordDecision({ since, isSlow: true });
    throw error;
  } finally {
    release();
  }
}

function tryEnter(pending: PendingReservations, call: PendingCall, limit: number): (() => void) | undefined {
  return pending.hasCapacity(call) ? pending.enter(call, limit) : undefined;
}

async function waitToEnter(
  pending: PendingReservations,
  call: PendingCall,
  limit: number,
): Promise<(() => void) | undefined> {
  const stopWaiting = pending.wait(call);
  try {
    for (const until = Date.now() + WAIT_MS; Date.now() < until;) {
      await sleep(POLL_INTERVAL_MS);
      const release = tryEnter(pending, call, limit);
      if (release !== undefined) return release;
    }
    return undefined;
  } finally {
    stopWaiting();
  }
}

/**
 * Returns the error for a call that could not become pending, because its account or the whole process has too many
 * pending calls.
 */
function rejectionOf(pending: PendingReservations, call: PendingCall, limit: number): ServiceError {
  if (pending.countUndecided(call) < limit) return serviceUnavailable();
  const message = `The account has ${limit} call requests that are still being processed. Try again in a moment.`;
  return new ServiceError('CONCURRENCY_LIMIT_EXCEEDED', message, { limit, current: limit });
}
