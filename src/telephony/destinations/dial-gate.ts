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
import { accountsOfMode } from '../accounts/account-of-call.js';
import type { TelephonyDatabase } from '../database.js';
import { createAccountCounts, type AccountCounts, type WaivedCall } from './account-counts.js';
import { createDestinationCounts, type CountedCall, type DestinationCounts } from './destination-counts.js';
import type { Leg } from './dial-legs.js';
import { createEngineCosts, type EngineCost, type EngineCosts } from './engine-costs.js';
import type { AccountDocument } from '../../identity/accounts/model.js';
import { createPromptCounts, type PromptCounts, type PromptedCall } from './prompt-counts.js';
import { createUnansweredAttempts, type DialAttempt, type UnansweredAttempts } from './unanswered-attempts.js';

export type DialGate = ReturnType<typeof createDialGate>;

/** Reads the stored requests that placed calls; implemented by the calls domain. */
export interface DialedCalls {
  find(callId: string): Promise<{ accountId: string; mode: Mode; direction: Direction; toPhoneNumber: string } | null>;
}

/** A number that is about to be dialed for an account. */
export interface PlannedDial extends PromptedCall {
  leg: Leg;
  to: string;
}

/**
 * Checks and counts every dial: calls when they are requested, transfers, and both again right before dialing. Inbound
 * calls are checked, too, because they also cost the operator money.
 */
export function createDialGate(deps: { config: Config; database: TelephonyDatabase; requests: DialedCalls }) {
  const { config, database, requests } = deps;
  const { liveLimits } = config.calls;
  const loadPlans = createPlansLoader();
  const accountCounts = createAccountCounts(database, config.calls);
  const prompts = createPromptCounts(database, config.calls);
  const engineCosts = createEngineCosts(database, config.calls);
  const caps = createCaps(createDestinationCounts(database), accountCounts, prompts);
  const attempts = createUnansweredAttempts({ database, pepper: config.stablePepper, loadPlans });
  const accounts = createAccounts(database);

  /**
   * Counts this attempt to reach a number. Returns false when the number has had its maximum of attempts. An attempt
   * that is already counted may continue.
   */
  async function countPlanned(dial: PlannedDial): Promise<boolean> {
    const { unansweredAttemptsPerHour: limit } = limitsOf(dial.account, dial.mode, liveLimits);
    return limit === undefined || attempts.count(attemptOfDial(dial), limit);
  }

  return {
    /** Loads the numbering plans, so that the first check is as fast as later ones. */
    async loadNumberingPlans(): Promise<void> {
      await loadPlans();
    },

    /** Returns an error message if this account may not call a number in this mode; undefined if it may. */
    async findDestinationFault(to: string, account: AccountDocument, mode: Mode): Promise<string | undefined> {
      return destinationFault(to, {
        caps: account.destinationCaps ?? [],
        prefixLists: [account.allowedCountryPrefixes ?? [], config.calls.allowedCountryPrefixes],
        plans: await loadPlans(),
        // Only live calls on a real carrier cost money, so the price matters only there.
        rejectsDearNumbers: mode === 'live' && !config.carriers.live.isSimulated,
      });
    },

    /** Whether no account may call a number: an emergency or short number, or one written with a trunk prefix. */
    async isNeverDialed(to: string): Promise<boolean> {
      return isNeverDialed(to, await loadPlans());
    },

    /** Whether a number used as caller id now belongs to another account. */
    async isNumberOfAnotherAccount(
      from: string,
      { accountId, mode }: { accountId: string; mode: Mode },
    ): Promise<boolean> {
      const ours = accountsOfMode(config.carriers, 'live').map(({ fromNumber }) => fromNumber);
      if (mode === 'test' || ours.includes(from)) return false;
      return (await database.phoneNumbers.exists({ _id: from, accountId: { $ne: accountId } })) !== null;
    },

    /**
     * Counts a requested call against the caps of its account and destination. The same call counts once. Unanswered
     * attempts are only checked here, and counted by {@link countAttempt} when dialing: a request does not ring a
     * phone, so it must not use up attempts that all accounts share.
     * @returns an error when a limit is reached: SPEND_LIMIT_EXCEEDED, or RATE_LIMIT_EXCEEDED for the limits of test
     * calls, of prompts and of engine costs
     */
    async admit(dial: PlannedDial): Promise<ServiceError | undefined> {
      const { unansweredAttemptsPerHour: limit } = limitsOf(dial.account, dial.mode, liveLimits);
      if (limit !== undefined && !(await attempts.hasRoom(attemptOfDial(dial), limit))) return attemptsExceeded();
      const rejection =
        (await accountCounts.findWaivedCallsError(dial, 'outbound')) ?? (await engineCosts.findError(dial, 'outbound'));
      return rejection ?? caps.count(dial);
    },

    /**
     * Counts a dial right before it is placed. Counts it against all limits or, if one is reached, against none. The
     * same dial counts once.
     * @returns an error when a limit is reached: SPEND_LIMIT_EXCEEDED, or RATE_LIMIT_EXCEEDED for the limit of test
     * calls
     */
    async count(dial: PlannedDial): Promise<ServiceError | undefined> {
      const reached = await caps.count(dial);
      if (reached) return reached;
      if (await countPlanned(dial)) return undefined;
      await caps.release(dial);
      return attemptsExceeded();
    },

    /**
     * Counts the attempt to reach a number right before dialing. A retry of the same dial is the same attempt.
     * @returns false when the number has had its maximum of attempts
     */
    async countAttempt({
      callId,
      leg,
      to,
      accountId,
      mode,
    }: DialAttempt & { accountId: string; mode: Mode }): Promise<boolean> {
      if (liveLimits === undefined || mode !== 'live') return true;
      const account = await accounts.find(accountId);
      return account !== null && countPlanned({ account, mode, callId, leg, to });
    },

    /** Reverts {@link admit}, once, for a call that is not placed. */
    withdraw: (dial: PlannedDial): Promise<void> => caps.release(dial),

    /** Removes a dial from all counts, once, because it was not placed. */
    async release(dial: PlannedDial): Promise<void> {
      await caps.release(dial);
      if (liveLimits !== undefined && dial.mode === 'live') await attempts.markNotDialed(attemptOfDial(dial));
    },

    /** Counts a call that failed before its agent was heard and is not billed. Counts each call once. */
    countWaived: (call: WaivedCall): Promise<void> => accountCounts.countWaived(call),

    /** Counts the cost of the engine for one stream so far. */
    addEngineCost: (cost: EngineCost): Promise<void> => engineCosts.add(cost),

    ...createReceivedCalls(accountCounts, prompts, engineCosts),
    ...createAttemptOutcomes({ attempts, requests, isCounted: liveLimits !== undefined }),
  };
}

/** Counts incoming calls against the limits of their account. */
function createReceivedCalls(accountCounts: AccountCounts, prompts: PromptCounts, engineCosts: EngineCosts) {
  return {
    /**
     * Counts an inbound call. The same call counts once. It counts even if the caller hangs up at once, because the
     * carrier bills every started minute.
     * @returns an error when a limit is reached: SPEND_LIMIT_EXCEEDED, or RATE_LIMIT_EXCEEDED for the limits of test
     * calls, of prompts and of engine costs
     */
    async admitReceived(call: PromptedCall): Promise<ServiceError | undefined> {
      const rejection =
        (await accountCounts.findWaivedCallsError(call, 'inbound')) ?? (await engineCosts.findError(call, 'inbound'));
      const reached = rejection ?? (await accountCounts.countReceived(call));
      if (reached) return reached;
      const tooLong = await prompts.count(call, 'inbound');
      if (tooLong) await accountCounts.releaseReceived(call);
      return tooLong;
    },

    /** Reverts {@link admitReceived}, once, for a call that is not accepted. */
    async withdrawReceived(call: PromptedCall): Promise<void> {
      await accountCounts.releaseReceived(call);
      await prompts.release(call);
    },
  };
}

/** Updates counted attempts when it is known whether the phone rang and was answered. */
function createAttemptOutcomes(deps: { attempts: UnansweredAttempts; requests: DialedCalls; isCounted: boolean }) {
  const { attempts, requests, isCounted } = deps;

  /** Returns the attempt of an outbound live call; undefined where attempts are not counted. */
  async function attemptOf(callId: string): Promise<DialAttempt | undefined> {
    if (!isCounted) return undefined;
    const request = await requests.find(callId);
    if (request?.mode !== 'live' || request.direction !== 'outbound') return undefined;
    return { callId, leg: 'call', to: request.toPhoneNumber, accountId: request.accountId };
  }

  return {
    /** Call this when the call was answered, so that it no longer counts as an unanswered attempt. */
    async markAnswered(callId: string): Promise<void> {
      const attempt = await attemptOf(callId);
      if (attempt !== undefined) await attempts.markAnswered(attempt);
    },

    /** Call this when the call is over and certainly was not dialed. */
    async markNotDialed(callId: string): Promise<void> {
      const attempt = await attemptOf(callId);
      if (attempt !== undefined) await attempts.markNotDialed(attempt);
    },

    /** Call this when the account canceled the call so soon that the phone hardly rang. */
    async markHardlyRung(callId: string): Promise<void> {
      const attempt = await attemptOf(callId);
      if (attempt !== undefined) await attempts.markHardlyRung(attempt);
    },

    /** Call this when the number that a live call was transferred to has answered. */
    async markTransferAnswered(callId: string, to: string): Promise<void> {
      if (!isCounted) return;
      const request = await requests.find(callId);
      await attempts.markAnswered({ callId, leg: 'transfer', to, ...(request && { accountId: request.accountId }) });
    },
  };
}

/**
 * Creates the caps of accounts and destinations. A dial counts against all of them or, if one is reached, against none.
 */
function createCaps(destinationCounts: DestinationCounts, accountCounts: AccountCounts, prompts: PromptCounts) {
  return {
    async count(dial: PlannedDial): Promise<ServiceError | undefined> {
      const accountLimit = await accountCounts.count(dial);
      if (accountLimit) return accountLimit;
      const reached = await destinationCounts.count(countedCallOf(dial));
      const fault = reached === undefined ? await prompts.count(dial, 'outbound') : capReached(reached);
      if (fault === undefined) return undefined;
      if (reached === undefined) await destinationCounts.release(countedCallOf(dial));
      await accountCounts.release(dial);
      return fault;
    },

    async release(dial: PlannedDial): Promise<void> {
      await destinationCounts.release(countedCallOf(dial));
      await accountCounts.release(dial);
      await prompts.release(dial);
    },
  };
}

function attemptOfDial({ account, callId, leg, to }: PlannedDial): DialAttempt {
  return { accountId: account._id, callId, leg, to };
}

function countedCallOf({ account, mode, callId, leg, to }: PlannedDial): CountedCall {
  const caps = mode === 'test' && isFictionalNumber(to) ? [] : countedCaps(to, account.destinationCaps ?? []);
  return { accountId: account._id, mode, callId, leg, caps };
}

function capReached({ prefix, period, limit }: CountedCap): ServiceError {
  const message = `The account has reached its limit of ${limit} calls per ${period} to numbers that begin with ${prefix}. Try again in the next ${period}, or ask the operator for a higher limit.`;
  return new ServiceError('SPEND_LIMIT_EXCEEDED', message, { limit });
}

/** The message does not say whose attempts these were, because it must not reveal calls of other accounts. */
function attemptsExceeded(): ServiceError {
  const message = 'This number has reached its limit of unanswered attempts for this hour. Try again in the next hour.';
  return new ServiceError('SPEND_LIMIT_EXCEEDED', message);
}
