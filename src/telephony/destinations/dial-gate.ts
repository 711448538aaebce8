import type { Config } from '../../platform/config/config.js';
import {
  countedCaps,
  destinationFault,
  isFictionalNumber,
  isNeverDialed,
  type CountedCap,
} from '../../kernel/destinations/destinations.js';
import type { Direction } from '../../kernel/call-state.js';
import { ServiceError } from '../../kernel/errors.js';
import type { Mode } from '../../kernel/ids.js';
import { createPlansLoader } from '../../platform/numbering/national-plans.js';
import { createAccounts, limitsOf } from '../../identity/accounts/accounts.js';
import type { TelephonyDatabase } from '../database.js';
import { createAccountCounts, type AccountCounts, type ReceivedCall, type WaivedCall } from './account-counts.js';
import { createDestinationCounts, type CountedCall, type DestinationCounts } from './destination-counts.js';
import type { Leg } from './dial-legs.js';
import type { AccountDocument } from '../../identity/accounts/model.js';
import { createUnansweredAttempts, type Attempt, type UnansweredAttempts } from './unanswered-attempts.js';

export type DialGate = ReturnType<typeof createDialGate>;

/** How the gate reads what a call was asked for; the calls domain provides it. */
export interface DialedCalls {
  find(callId: string): Promise<{ accountId: string; mode: Mode; direction: Direction; toPhoneNumber: string } | null>;
}

/** A number that is about to be dialed for an account. */
export interface PlannedDial {
  account: AccountDocument;
  mode: Mode;
  callId: string;
  leg: Leg;
  to: string;
}

/**
 * What everything that dials asks before: calls when they are requested, transfers, and both once more at the dial. Calls that
 * come in ask it, too, since they cost the operator as much.
 */
export function createDialGate(deps: { config: Config; database: TelephonyDatabase; requests: DialedCalls }) {
  const { config, database, requests } = deps;
  const { liveLimits } = config.calls;
  const loadPlans = createPlansLoader();
  const accountCounts = createAccountCounts(database, config.calls);
  const caps = createCaps(createDestinationCounts(database), accountCounts);
  const attempts = createUnansweredAttempts({ database, pepper: config.apiKeyPepper, loadPlans });
  const accounts = createAccounts(database);

  /** Whether a number may get this attempt, which counts from now on; an attempt that is counted already may go on. */
  async function countPlanned(dial: PlannedDial): Promise<boolean> {
    const { unansweredAttemptsPerHour: limit } = limitsOf(dial.account, dial.mode, liveLimits);
    return limit === undefined || attempts.count(attemptAt(dial), limit);
  }

  return {
    /** Loads what the checks need, so that the first of them is as quick as the others. */
    async warm(): Promise<void> {
      await loadPlans();
    },

    /** Why this account may not call a number in this mode, in a sentence for the client; undefined when it may. */
    async fault(to: string, account: AccountDocument, mode: Mode): Promise<string | undefined> {
      return destinationFault(to, {
        caps: account.destinationCaps ?? [],
        prefixLists: [account.allowedCountryPrefixes ?? [], config.calls.allowedCountryPrefixes],
        plans: await loadPlans(),
        // Only there does a call cost money.
        refusesDearNumbers: mode === 'live' && liveLimits !== undefined,
      });
    },

    /** Whether no account may call a number: an emergency or short number, or one with a trunk prefix written in. */
    async isNeverDialed(to: string): Promise<boolean> {
      return isNeverDialed(to, await loadPlans());
    },

    /** Whether a number that a call would come from belongs to another account by now. */
    async isNumberOfAnother(from: string, { accountId, mode }: { accountId: string; mode: Mode }): Promise<boolean> {
      if (mode === 'test' || from === config.carriers.live.fromNumber) return false;
      return (await database.phoneNumbers.exists({ _id: from, accountId: { $ne: accountId } })) !== null;
    },

    /**
     * Counts a call that is asked for against the caps of its account and destination; the same call again is the same count. The
     * unanswered attempts are only looked at: a request rings no phone, so it takes no attempt of a number that all
     * accounts share. {@link countAttempt} counts at the dial.
     * @returns SPEND_LIMIT_EXCEEDED when a limit is reached, RATE_LIMIT_EXCEEDED when it is that of test calls
     */
    async admit(dial: PlannedDial): Promise<ServiceError | undefined> {
      const { unansweredAttemptsPerHour: limit } = limitsOf(dial.account, dial.mode, liveLimits);
      if (limit !== undefined && !(await attempts.hasRoom(attemptAt(dial), limit))) return tooManyAttempts();
      return (await accountCounts.waivedFault(dial)) ?? caps.count(dial);
    },

    /**
     * Counts a dial that follows at once against every limit, or none; the same dial again is the same count.
     * @returns SPEND_LIMIT_EXCEEDED when a limit is reached
     */
    async count(dial: PlannedDial): Promise<ServiceError | undefined> {
      const reached = await caps.count(dial);
      if (reached) return reached;
      if (await countPlanned(dial)) return undefined;
      await caps.release(dial);
      return tooManyAttempts();
    },

    /**
     * Counts the attempt that a call is about to be; every try to dial it is the same attempt.
     * @returns false when the number has had as many
     */
    async countAttempt({
      callId,
      leg,
      to,
      accountId,
      mode,
    }: Attempt & { accountId: string; mode: Mode }): Promise<boolean> {
      if (liveLimits === undefined || mode !== 'live') return true;
      const account = await accounts.find(accountId);
      return account !== null && countPlanned({ account, mode, callId, leg, to });
    },

    /**
     * Counts a call that has come in; the same call again is the same count. It counts whether or not its caller stays: the
     * carrier bills a started minute.
     * @returns SPEND_LIMIT_EXCEEDED when a limit is reached, RATE_LIMIT_EXCEEDED when it is that of test calls
     */
    async admitReceived(call: ReceivedCall): Promise<ServiceError | undefined> {
      return (await accountCounts.waivedFault(call)) ?? accountCounts.countReceived(call);
    },

    /** Takes a call out of what {@link admitReceived} counted, once: it is not taken. */
    withdrawReceived: (call: ReceivedCall): Promise<void> => accountCounts.releaseReceived(call),

    /** Takes a call out of what {@link admit} counted, once: it is not placed. */
    withdraw: (dial: PlannedDial): Promise<void> => caps.release(dial),

    /** Takes a dial out of every count, once: it was not placed. */
    async release(dial: PlannedDial): Promise<void> {
      await caps.release(dial);
      if (liveLimits !== undefined && dial.mode === 'live') await attempts.notDialed(attemptAt(dial));
    },

    /** Counts a call, once, that failed before its agent was heard and is not billed. */
    countWaived: (call: WaivedCall): Promise<void> => accountCounts.countWaived(call),

    ...createAttemptEnds({ attempts, requests, isCounted: liveLimits !== undefined }),
  };
}

/** What becomes of attempts that were counted. */
function createAttemptEnds(deps: { attempts: UnansweredAttempts; requests: DialedCalls; isCounted: boolean }) {
  const { attempts, requests, isCounted } = deps;

  /** The attempt that an outbound live call is; undefined where attempts are not counted. */
  async function attemptOf(callId: string): Promise<Attempt | undefined> {
    if (!isCounted) return undefined;
    const request = await requests.find(callId);
    if (request?.mode !== 'live' || request.direction !== 'outbound') return undefined;
    return { callId, leg: 'call', to: request.toPhoneNumber, accountId: request.accountId };
  }

  return {
    /** A call was answered: it is no unanswered attempt any more. */
    async answered(callId: string): Promise<void> {
      const attempt = await attemptOf(callId);
      if (attempt !== undefined) await attempts.answered(attempt);
    },

    /** A call is over and was provably never dialed. */
    async notDialed(callId: string): Promise<void> {
      const attempt = await attemptOf(callId);
      if (attempt !== undefined) await attempts.notDialed(attempt);
    },

    /** A call was cancelled by its account so soon that the phone hardly rang. */
    async hardlyRang(callId: string): Promise<void> {
      const attempt = await attemptOf(callId);
      if (attempt !== undefined) await attempts.hardlyRang(attempt);
    },

    /** Somebody answered the number that a live call was transferred to. */
    async transferAnswered(callId: string, to: string): Promise<void> {
      if (!isCounted) return;
      const request = await requests.find(callId);
      await attempts.answered({ callId, leg: 'transfer', to, ...(request && { accountId: request.accountId }) });
    },
  };
}

/** The caps of a dial's account and those of its destination: a dial counts against all of them, or none. */
function createCaps(destinationCounts: DestinationCounts, accountCounts: AccountCounts) {
  return {
    async count(dial: PlannedDial): Promise<ServiceError | undefined> {
      const refused = await accountCounts.count(dial);
      if (refused) return refused;
      const reached = await destinationCounts.count(counted(dial));
      if (reached === undefined) return undefined;
      await accountCounts.release(dial);
      return capReached(reached);
    },

    async release(dial: PlannedDial): Promise<void> {
      await destinationCounts.release(counted(dial));
      await accountCounts.release(dial);
    },
  };
}

function attemptAt({ account, callId, leg, to }: PlannedDial): Attempt {
  return { accountId: account._id, callId, leg, to };
}

function counted({ account, mode, callId, leg, to }: PlannedDial): CountedCall {
  const caps = mode === 'test' && isFictionalNumber(to) ? [] : countedCaps(to, account.destinationCaps ?? []);
  return { accountId: account._id, mode, callId, leg, caps };
}

function capReached({ prefix, period, limit }: CountedCap): ServiceError {
  const message = `The account has placed its ${limit} calls per ${period} to numbers that begin with ${prefix}.`;
  return new ServiceError('SPEND_LIMIT_EXCEEDED', message, { limit });
}

/** Says nothing of whose attempts they were: an account is not told about the calls of others. */
function tooManyAttempts(): ServiceError {
  const message = 'This number gets no more attempts without an answer in this hour. Try again in the next hour.';
  return new ServiceError('SPEND_LIMIT_EXCEEDED', message);
}
