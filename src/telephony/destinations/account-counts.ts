import { driverCollection } from '../../platform/mongo/driver-collection.js';
import type { LiveLimits } from '../../platform/config/live-limits.js';
import { ServiceError } from '../../kernel/errors.js';
import type { Direction } from '../../kernel/call-state.js';
import type { Mode } from '../../kernel/ids.js';
import { limitsOf } from '../../identity/accounts/accounts.js';
import { usableLimit } from '../../identity/accounts/received-share.js';
import type { AccountDocument } from '../../identity/accounts/model.js';
import type { TelephonyDatabase } from '../database.js';
import { dialFieldName, type Leg } from './dial-legs.js';
import { createPeriodCounts, type PeriodCountDocument } from '../../platform/mongo/period-counts.js';

/** Failed live calls without a bill that an account may have in a UTC hour. After that, further calls are rejected. */
export const WAIVED_CALLS_PER_HOUR = 20;

export type AccountCounts = ReturnType<typeof createAccountCounts>;

/** A call that failed before its agent was heard and is therefore not billed. */
export interface WaivedCall {
  accountId: string;
  mode: Mode;
  callId: string;
}

/** An incoming call for an account. */
export interface ReceivedCall {
  account: AccountDocument;
  mode: Mode;
  callId: string;
}

interface AccountDial extends ReceivedCall {
  leg: Leg;
}

/**
 * Counts that limit an account's calls: live calls placed and received per UTC day, waived calls
 * (failed and not billed) per UTC hour, and test calls per UTC day. Test calls are counted on any carrier, because they
 * are free but use storage.
 * @param p.liveLimits absent where live calls cost the operator nothing; then live calls are not counted
 * @param p.testCallsPerDay absent: test calls are not counted
 */
export function createAccountCounts(
  database: TelephonyDatabase,
  { liveLimits, testCallsPerDay }: { liveLimits: LiveLimits | undefined; testCallsPerDay: number | undefined },
  options: { now?: () => Date } = {},
) {
  // The collection also contains the counts by prefix. Their ids have a plus before the prefix, so ids never collide.
  const documents = driverCollection<PeriodCountDocument>(database, database.destinationCounts);
  const now = options.now ?? (() => new Date());
  const counts = createPeriodCounts(documents, now);
  const placedId = (accountId: string) => `${accountId}~live~placed~day`;
  // Received calls are counted separately, so that callers cannot use up the calls that the account may place.
  const receivedId = (accountId: string) => `${accountId}~live~received~day`;
  // One count for placed and received test calls together.
  const testId = (accountId: string) => `${accountId}~test~day`;
  const waived = (accountId: string, callId: string) => ({
    _id: `${accountId}~live~waived~hour`,
    period: 'hour' as const,
    limit: WAIVED_CALLS_PER_HOUR,
    member: dialFieldName({ callId }),
  });

  async function countTest({ account, callId }: ReceivedCall): Promise<ServiceError | undefined> {
    if (testCallsPerDay === undefined) return undefined;
    const entry = { _id: testId(account._id), period: 'day' as const, limit: testCallsPerDay };
    const isCounted = await counts.add({ ...entry, member: dialFieldName({ callId }) });
    return isCounted ? undefined : testCallsExceeded(testCallsPerDay, now());
  }

  async function releaseTest({ account, callId }: ReceivedCall): Promise<void> {
    if (testCallsPerDay !== undefined) await counts.remove(testId(account._id), dialFieldName({ callId }));
  }

  return {
    /**
     * Counts a dial once. Transfers of test calls are not counted.
     * @returns an error when the daily limit is reached: SPEND_LIMIT_EXCEEDED, or RATE_LIMIT_EXCEEDED for a test call
     */
    async count({ leg, ...dial }: AccountDial): Promise<ServiceError | undefined> {
      const { account, mode, callId } = dial;
      if (mode === 'test') return leg === 'call' ? countTest(dial) : undefined;
      const { liveCallsPerDay: limit } = limitsOf(account, mode, liveLimits);
      if (limit === undefined) return undefined;
      const member = dialFieldName({ callId, leg });
      const isCounted = await counts.add({ _id: placedId(account._id), period: 'day', limit, member });
      return isCounted ? undefined : placedCallsExceeded(limit);
    },

    /** Removes a dial from the count, once, because it was not placed. */
    async release({ leg, ...dial }: AccountDial): Promise<void> {
      const { account, mode, callId } = dial;
      if (mode === 'test') return leg === 'call' ? releaseTest(dial) : undefined;
      if (liveLimits === undefined) return;
      await counts.remove(placedId(account._id), dialFieldName({ callId, leg }));
    },

    /**
     * Counts an incoming call once.
     * @returns an error when the daily limit is reached: SPEND_LIMIT_EXCEEDED, or RATE_LIMIT_EXCEEDED for a test call
     */
    async countReceived(call: ReceivedCall): Promise<ServiceError | undefined> {
      const { account, mode, callId } = call;
      if (mode === 'test') return countTest(call);
      const { liveCallsPerDay: limit } = limitsOf(account, mode, liveLimits);
      if (limit === undefined) return undefined;
      const entry = { _id: receivedId(account._id), period: 'day' as const, limit, member: dialFieldName({ callId }) };
      return (await counts.add(entry)) ? undefined : receivedCallsExceeded(limit);
    },

    /** Removes an inbound call from the count, once, because it was not accepted. */
    async releaseReceived(call: ReceivedCall): Promise<void> {
      const { account, mode, callId } = call;
      if (mode === 'test') return releaseTest(call);
      if (liveLimits === undefined) return;
      await counts.remove(receivedId(account._id), dialFieldName({ callId }));
    },

    /** Counts a call that failed and is not billed. Counts each call once. */
    async countWaived({ accountId, mode, callId }: WaivedCall): Promise<void> {
      if (liveLimits !== undefined && mode === 'live') await counts.add(waived(accountId, callId));
    },

    /** @returns SPEND_LIMIT_EXCEEDED when too many calls of the account were waived in this hour */
    async findWaivedCallsError(
      { account, mode, callId }: ReceivedCall,
      direction: Direction,
    ): Promise<ServiceError | undefined> {
      if (liveLimits === undefined || mode !== 'live') return undefined;
      const limit = usableLimit(WAIVED_CALLS_PER_HOUR, direction);
      return (await counts.hasRoom({ ...waived(account._id, callId), limit })) ? undefined : waivedCallsExceeded(limit);
    },
  };
}

function placedCallsExceeded(limit: number): ServiceError {
  const message =
    `The account has reached its limit of ${limit} live calls, transfers included, of this UTC day. ` +
    'Try again the next day, or ask the operator for a higher limit.';
  return new ServiceError('SPEND_LIMIT_EXCEEDED', message, { limit });
}

function receivedCallsExceeded(limit: number): ServiceError {
  const message =
    `The account has reached its limit of ${limit} received live calls of this UTC day. ` +
    'Try again the next day, or ask the operator for a higher limit.';
  return new ServiceError('SPEND_LIMIT_EXCEEDED', message, { limit });
}

function testCallsExceeded(limit: number, now: Date): ServiceError {
  const message =
    `The account has reached its limit of ${limit} test calls of this UTC day, placed and received. ` +
    'Try again the next day, or ask the operator for a higher limit.';
  return new ServiceError('RATE_LIMIT_EXCEEDED', message, { limit }, secondsLeftOfDay(now));
}

function waivedCallsExceeded(limit: number): ServiceError {
  const message =
    `${limit} unbilled live calls of the account failed in this hour before the agent was heard. ` +
    "Test the agent's instruction and tools with a test key, and try again in the next hour.";
  return new ServiceError('SPEND_LIMIT_EXCEEDED', message, { limit });
}

export function secondsLeftOfDay(now: Date): number {
  const tomorrow = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() + 1);
  return Math.ceil((tomorrow - now.getTime()) / 1_000);
}
