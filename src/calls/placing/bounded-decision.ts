import { setTimeout as sleep } from 'node:timers/promises';
import { limitsOf } from '../../identity/accounts/accounts.js';
import type { Principal } from '../../identity/access/principal.js';
import { ServiceError } from '../../kernel/errors.js';
import type { Config } from '../../platform/config/config.js';
import { unavailable } from '../../platform/http/deadline.js';
import { TEST_CALLS_OF_ACCOUNT, type PendingCall, type PendingReservations } from './pending-reservations.js';

export interface BoundedDecisionDeps {
  config: Config;
  /** Shared by the whole process. */
  pending: PendingReservations;
}

/**
 * Undecided calls that an account may have beyond its limit of concurrent calls. Each costs a workflow, although those
 * beyond the limit are rejected in the end.
 */
const UNDECIDED_BEYOND_LIMIT = 8;
/** How long a test call waits for others to be decided; a burst of them is decided soon. */
const WAIT_MS = 500;
const LOOK_EVERY_MS = 25;

/** A decision that takes more than this share of its timeout counts as slow. */
const SLOW_SHARE = 1 / 2;

/**
 * Decides whether a call goes ahead. Limits how many calls of the account, and how many test calls of all accounts
 * together, are undecided at once.
 * @param decide stores and starts the call
 * @throws ServiceError CONCURRENCY_LIMIT_EXCEEDED, SERVICE_UNAVAILABLE, and what `decide` throws
 */
export async function decideBounded<T>(
  { config, pending }: BoundedDecisionDeps,
  { account, mode }: Pick<Principal, 'account' | 'mode'>,
  callId: string,
  decide: () => Promise<T>,
): Promise<T> {
  const call = { accountId: account._id, mode, callId };
  const ofAccount = limitsOf(account, mode, config.calls.liveLimits).concurrentCalls + UNDECIDED_BEYOND_LIMIT;
  const limit = mode === 'test' ? Math.min(ofAccount, TEST_CALLS_OF_ACCOUNT) : ofAccount;
  const leave = enterNow(pending, call, limit) ?? (mode === 'test' ? await enterSoon(pending, call, limit) : undefined);
  if (leave === undefined) throw refusalOf(pending, call, limit);
  const since = performance.now();
  const slowMs = config.calls.answerWithinMs * SLOW_SHARE;
  const isSlow = () => performance.now() - since > slowMs;
  try {
    const decision = await decide();
    pending.decided({ since, isSlow: isSlow() });
    return decision;
  } catch (error) {
    // A quick error says nothing about how long decisions take.
    if (isSlow()) pending.decided({ since, isSlow: true });
    throw error;
  } finally {
    leave();
  }
}

function enterNow(pending: PendingReservations, call: PendingCall, limit: number): (() => void) | undefined {
  return pending.hasRoom(call) ? pending.enter(call, limit) : undefined;
}

async function enterSoon(
  pending: PendingReservations,
  call: PendingCall,
  limit: number,
): Promise<(() => void) | undefined> {
  const waitNoLonger = pending.wait(call);
  try {
    for (const until = Date.now() + WAIT_MS; Date.now() < until;) {
      await sleep(LOOK_EVERY_MS);
      const leave = enterNow(pending, call, limit);
      if (leave !== undefined) return leave;
    }
    return undefined;
  } finally {
    waitNoLonger();
  }
}

/**
 * The error for a call that did not get in: its account has too many undecided calls, or all accounts together have.
 */
function refusalOf(pending: PendingReservations, call: PendingCall, limit: number): ServiceError {
  if (pending.undecidedOf(call) < limit) return unavailable();
  const message = `The account has ${limit} calls that wait to be decided. Try again in a moment.`;
  return new ServiceError('CONCURRENCY_LIMIT_EXCEEDED', message, { limit, current: limit });
}
