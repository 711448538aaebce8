import { driverCollection } from '../../platform/mongo/driver-collection.js';
import type { LiveLimits } from '../../platform/config/live-limits.js';
import { ServiceError } from '../../kernel/errors.js';
import type { Mode } from '../../kernel/ids.js';
import { limitsOf } from '../../identity/accounts/accounts.js';
import type { AccountDocument } from '../../identity/accounts/model.js';
import type { TelephonyDatabase } from '../database.js';
import { memberOf, type Leg } from './dial-legs.js';
import type { PeriodCountDocument } from './model.js';
import { createPeriodCounts } from './period-counts.js';

/** Live calls of an account that may fail unbilled in a UTC hour before its further ones are refused. */
export const WAIVED_CALLS_PER_HOUR = 20;

export type AccountCounts = ReturnType<typeof createAccountCounts>;

export interface WaivedCall {
  accountId: string;
  mode: Mode;
  callId: string;
}

/** A call that has come in for an account. */
export interface ReceivedCall {
  account: AccountDocument;
  mode: Mode;
  callId: string;
}

interface AccountDial extends ReceivedCall {
  leg: Leg;
}

/**
 * The counts that bound an account's live calls on a real carrier: dials and received calls in a UTC day, and waived calls in a
 * UTC hour. Test calls are counted on any carrier: they cost nothing and are stored all the same.
 * @param p.liveLimits absent where live calls go to the simulated carrier: those are not counted
 * @param p.testCallsPerDay absent: test calls are not counted
 */
export function createAccountCounts(
  database: TelephonyDatabase,
  { liveLimits, testCallsPerDay }: { liveLimits: LiveLimits | undefined; testCallsPerDay: number | undefined },
  options: { now?: () => Date } = {},
) {
  // Beside the counts of prefixes: a prefix begins with a plus, so the ids never meet.
  const documents = driverCollection<PeriodCountDocument>(database, database.destinationCounts);
  const counts = createPeriodCounts(documents, options.now ?? (() => new Date()));
  const placedId = (accountId: string) => `${accountId}~live~placed~day`;
  // Apart from placed ones, so that callers never use up what the account may place.
  const receivedId = (accountId: string) => `${accountId}~live~received~day`;
  // Placed and received ones together.
  const testId = (accountId: string) => `${accountId}~test~day`;
  const waived = (accountId: string, callId: string) => ({
    _id: `${accountId}~live~waived~hour`,
    period: 'hour' as const,
    limit: WAIVED_CALLS_PER_HOUR,
    member: memberOf({ callId }),
  });

  async function countTest({ account, callId }: ReceivedCall): Promise<ServiceError | undefined> {
    if (testCallsPerDay === undefined) return undefined;
    const place = { _id: testId(account._id), period: 'day' as const, limit: testCallsPerDay };
    return (await counts.add({ ...place, member: memberOf({ callId }) })) ? undefined : tooManyTests(testCallsPerDay);
  }

  async function releaseTest({ account, callId }: ReceivedCall): Promise<void> {
    if (testCallsPerDay !== undefined) await counts.remove(testId(account._id), memberOf({ callId }));
  }

  return {
    /**
     * Counts a dial once. Transfers of test calls are not counted.
     * @returns SPEND_LIMIT_EXCEEDED, for a test call RATE_LIMIT_EXCEEDED, when the account has placed as many today
     */
    async count({ leg, ...dial }: AccountDial): Promise<ServiceError | undefined> {
      const { account, mode, callId } = dial;
      if (mode === 'test') return leg === 'call' ? countTest(dial) : undefined;
      const { liveCallsPerDay: limit } = limitsOf(account, mode, liveLimits);
      if (limit === undefined) return undefined;
      const member = memberOf({ callId, leg });
      const isCounted = await counts.add({ _id: placedId(account._id), period: 'day', limit, member });
      return isCounted ? undefined : tooManyCalls(limit);
    },

    /** Takes a dial out of the count, once: it was not placed. */
    async release({ leg, ...dial }: AccountDial): Promise<void> {
      const { account, mode, callId } = dial;
      if (mode === 'test') return leg === 'call' ? releaseTest(dial) : undefined;
      if (liveLimits === undefined) return;
      await counts.remove(placedId(account._id), memberOf({ callId, leg }));
    },

    /**
     * Counts a call that has come in, once.
     * @returns SPEND_LIMIT_EXCEEDED, for a test call RATE_LIMIT_EXCEEDED, when as many have come today
     */
    async countReceived(call: ReceivedCall): Promise<ServiceError | undefined> {
      const { account, mode, callId } = call;
      if (mode === 'test') return countTest(call);
      const { liveCallsPerDay: limit } = limitsOf(account, mode, liveLimits);
      if (limit === undefined) return undefined;
      const place = { _id: receivedId(account._id), period: 'day' as const, limit, member: memberOf({ callId }) };
      return (await counts.add(place)) ? undefined : tooManyReceived(limit);
    },

    /** Takes a call that came in out of the count, once: it was not taken. */
    async releaseReceived(call: ReceivedCall): Promise<void> {
      const { account, mode, callId } = call;
      if (mode === 'test') return releaseTest(call);
      if (liveLimits === undefined) return;
      await counts.remove(receivedId(account._id), memberOf({ callId }));
    },

    /** Counts a call, once, that failed and is not billed. */
    async countWaived({ accountId, mode, callId }: WaivedCall): Promise<void> {
      if (liveLimits !== undefined && mode === 'live') await counts.add(waived(accountId, callId));
    },

    /** @returns SPEND_LIMIT_EXCEEDED when too many calls of the account were waived in this hour */
    async waivedFault({ account, mode, callId }: ReceivedCall): Promise<ServiceError | undefined> {
      if (liveLimits === undefined || mode !== 'live') return undefined;
      return (await counts.hasRoom(waived(account._id, callId))) ? undefined : tooManyWaived();
    },
  };
}

function tooManyCalls(limit: number): ServiceError {
  const message =
    `The account has placed its ${limit} live calls of this UTC day, transfers included. ` +
    'Try again on the next day, or ask the operator for a higher limit.';
  return new ServiceError('SPEND_LIMIT_EXCEEDED', message, { limit });
}

function tooManyReceived(limit: number): ServiceError {
  const message =
    `The account has received its ${limit} live calls of this UTC day. ` +
    'Try again on the next day, or ask the operator for a higher limit.';
  return new ServiceError('SPEND_LIMIT_EXCEEDED', message, { limit });
}

function tooManyTests(limit: number): ServiceError {
  const message =
    `The account has had its ${limit} test calls of this UTC day, placed and received ones together. ` +
    'Try again on the next day, or ask the operator for a higher limit.';
  return new ServiceError('RATE_LIMIT_EXCEEDED', message, { limit });
}

function tooManyWaived(): ServiceError {
  const message =
    `In this hour ${WAIVED_CALLS_PER_HOUR} live calls of the account failed before the agent was heard, and were not billed. ` +
    "Check the agent's instruction and tools with a test key, and try again in the next hour.";
  return new ServiceError('SPEND_LIMIT_EXCEEDED', message, { limit: WAIVED_CALLS_PER_HOUR });
}
