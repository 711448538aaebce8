import { limitsOf } from '../../identity/accounts/accounts.js';
import type { Principal } from '../../identity/access/principal.js';
import type { Direction } from '../../kernel/call-state.js';
import { ServiceError } from '../../kernel/errors.js';
import type { Mode } from '../../kernel/ids.js';
import type { Config } from '../../platform/config/config.js';
import { serviceUnavailable } from '../../platform/http/deadline.js';
import type { CallRequestDocument } from '../call-request-model.js';
import type { PendingCall, PendingReservations } from './pending-reservations.js';

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
/** Maximum pending test calls of one account per process. */
const TEST_CALLS_PER_ACCOUNT = 5;
/** How long a call waits until fewer calls are pending. A burst of calls is over sooner than that. */
const WAIT_MS = 500;
/** An overload lasts longer than a call can wait, so clients learn of it soon, and repeat their request later. */
const WAIT_IN_OVERLOAD_MS = 150;
/** A live caller is on the phone and cannot repeat the request, and a carrier waits longer than a client of the API. */
const WAIT_OF_LIVE_CALLER_MS = 1_000;

/** If deciding about a call takes more than this share of its timeout, the decision counts as slow. */
const SLOW_SHARE = 1 / 2;

/**
 * Decides whether a call goes ahead. Limits how many calls may be pending (neither accepted nor rejected) at once, per
 * account and in the whole process. A call that finds no room waits briefly, and is rejected before it costs anything.
 * @param decide stores and starts the call
 * @throws ServiceError CONCURRENCY_LIMIT_EXCEEDED, SERVICE_UNAVAILABLE, and what `decide` throws
 */
export async function decideWithinLimits<T>(
  { config, pending }: DecisionLimitDeps,
  { account, mode }: Pick<Principal, 'account' | 'mode'>,
  { _id: callId, direction }: Pick<CallRequestDocument, '_id' | 'direction'>,
  decide: () => Promise<T>,
): Promise<T> {
  const call = { accountId: account._id, mode, direction, callId };
  const accountLimit = limitsOf(account, mode, config.calls.liveLimits).concurrentCalls + UNDECIDED_BEYOND_LIMIT;
  const limit = mode === 'test' ? Math.min(accountLimit, TEST_CALLS_PER_ACCOUNT) : accountLimit;
  const release = pending.enter(call, limit) ?? (await waitToEnter(pending, call, limit));
  if (release === undefined) throw rejectionOf(pending, call, limit);
  try {
    return await measureDecision(pending, { mode, slowMs: config.calls.answerWithinMs * SLOW_SHARE }, decide);
  } finally {
    release();
  }
}

/** Records whether a decision is slow, and does so before it ends. */
async function measureDecision<T>(
  pending: PendingReservations,
  { mode, slowMs }: { mode: Mode; slowMs: number },
  decide: () => Promise<T>,
): Promise<T> {
  const since = performance.now();
  const recordSlow = () => pending.recordDecision({ mode, since, isSlow: true });
  const timer = setTimeout(recordSlow, slowMs);
  try {
    const decision = await decide();
    // A quick error does not show how long decisions take, so record only quick results.
    if (performance.now() - since <= slowMs) pending.recordDecision({ mode, since, isSlow: false });
    else recordSlow();
    return decision;
  } finally {
    clearTimeout(timer);
  }
}

async function waitToEnter(pending: PendingReservations, call: PendingCall, limit: number) {
  const { mode, direction } = call;
  // The account itself has too many pending live calls, and waiting would only add to them.
  if (mode === 'live' && pending.countUndecided(call) >= limit) return undefined;
  return pending.wait(call, limit, waitMs(pending, mode, direction));
}

function waitMs(pending: PendingReservations, mode: Mode, direction: Direction): number {
  if (mode === 'test') return WAIT_MS;
  if (direction === 'inbound') return WAIT_OF_LIVE_CALLER_MS;
  return pending.isOverloaded(mode) ? WAIT_IN_OVERLOAD_MS : WAIT_MS;
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
