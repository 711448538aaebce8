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
import { createAccountCounts, type AccountCounts, type WaivedCall } from './account-counts.js';
import { createDestinationCounts, type CountedCall, type DestinationCounts } from './destination-counts.js';
import type { Leg } from './dial-legs.js';
import type { AccountDocument } from '../../identity/accounts/model.js';
import { createPromptCounts, type PromptCounts, type PromptedCall } from './prompt-counts.js';
import { createUnansweredAttempts, type Attempt, type UnansweredAttempts } from './unanswered-attempts.js';

export type DialGate = ReturnType<typeof createDialGate>;

/** Reads the request of a call; implemented by the calls domain. */
export interface DialedCalls {
  find(callId: string): Promise<{ accountId: string; mode: Mode; direction: Direction; toPhoneNumber: string } | null>;
}

/** A number that is about to be dialed for an account. */
export interface PlannedDial extends PromptedCall {
  leg: Leg;
  to: string;
}

/**
 * The checks and counts before every dial: for calls when they are requested, for transfers, and for both again right
 * before dialing. Incoming calls are checked too, since they also cost the operator money.
 */
export function createDialGate(deps: { config: Config; database: TelephonyDatabase; requests: DialedCalls }) {
  const { config, database, requests } = deps;
  const { liveLimits } = config.calls;
  const loadPlans = createPlansLoader();
  const accountCounts = createAccountCounts(database, config.calls);
  const prompts = createPromptCounts(database, config.calls);
  const caps = createCaps(createDestinationCounts(database), accountCounts, prompts);
  const attempts = createUnansweredAttempts({ database, pepper: config.apiKeyPepper, loadPlans });
  const accounts = createAccounts(database);

  /**
   * Counts this attempt to reach a number; returns false when the number has had its attempts. An attempt that is
   * already counted may continue.
   */
  async function countPlanned(dial: PlannedDial): Promise<boolean> {
    const { unansweredAttemptsPerHour: limit } = limitsOf(dial.account, dial.mode, liveLimits);
    return limit === undefined || attempts.count(attemptAt(dial), limit);
  }

  return {
    /** Loads the numbering plans, so that the first check is as fast as later ones. */
    async warm(): Promise<void> {
      await loadPlans();
    },

    /** Explains to the client why this account may not call a number in this mode; undefined when it may. */
    async fault(to: string, account: AccountDocument, mode: Mode): Promise<string | undefined> {
      return destinationFault(to, {
        caps: account.destinationCaps ?? [],
        prefixLists: [account.allowedCountryPrefixes ?? [], config.calls.allowedCountryPrefixes],
        plans: await loadPlans(),
        // Only live calls on a real carrier cost money.
        refusesDearNumbers: mode === 'live' && liveLimits !== undefined,
      });
    },

    /** Whether no account may call a number: an emergency or short number, or a number that includes a trunk prefix. */
    async isNeverDialed(to: string): Promise<boolean> {
      return isNeverDialed(to, await loadPlans());
    },

    /** Whether a caller number now belongs to another account. */
    async isNumberOfAnother(from: string, { accountId, mode }: { accountId: string; mode: Mode }): Promise<boolean> {
      if (mode === 'test' || from === config.carriers.live.fromNumber) return false;
      return (await database.phoneNumbers.exists({ _id: from, accountId: { $ne: accountId } })) !== null;
    },

    /**
     * Counts a requested call against the caps of its account and destination; the same call counts once. Unanswered
     * attempts are only checked, not counted: a request does not ring a phone, so it must not use up the attempts of a
     * number that all accounts share. {@link countAttempt} counts them when dialing.
     * @returns an error when a limit is reached: SPEND_LIMIT_EXCEEDED, or RATE_LIMIT_EXCEEDED for the limits of test
     *   calls and of prompts
     */
    async admit(dial: PlannedDial): Promise<ServiceError | undefined> {
      const { unansweredAttemptsPerHour: limit } = limitsOf(dial.account, dial.mode, liveLimits);
      if (limit !== undefined && !(await attempts.hasRoom(attemptAt(dial), limit))) return tooManyAttempts();
      return (await accountCounts.waivedFault(dial)) ?? caps.count(dial);
    },

    /**
     * Counts a dial that follows immediately against every limit, or against none; the same dial counts once.
     * @returns an error when a limit is reached: SPEND_LIMIT_EXCEEDED, or RATE_LIMIT_EXCEEDED for the limit of test
     *   calls
     */
    async count(dial: PlannedDial): Promise<ServiceError | undefined> {
      const reached = await caps.count(dial);
      if (reached) return reached;
      if (await countPlanned(dial)) return undefined;
      await caps.release(dial);
      return tooManyAttempts();
    },

    /**
     * Counts the attempt to reach a number right before dialing; retries of the same dial are the same attempt.
     * @returns false when the number has had its attempts
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

    /** Undoes {@link admit}, once, for a call that is not placed. */
    withdraw: (dial: PlannedDial): Promise<void> => caps.release(dial),

    /** Removes a dial that was not placed from every count, once. */
    async release(dial: PlannedDial): Promise<void> {
      await caps.release(dial);
      if (liveLimits !== undefined && dial.mode === 'live') await attempts.notDialed(attemptAt(dial));
    },

    /** Counts, once, a call that failed before its agent was heard and is not billed. */
    countWaived: (call: WaivedCall): Promise<void> => accountCounts.countWaived(call),

    ...createReceivedCalls(accountCounts, prompts),
    ...createAttemptEnds({ attempts, requests, isCounted: liveLimits !== undefined }),
  };
}

/** Counts incoming calls against the limits of their account. */
function createReceivedCalls(accountCounts: AccountCounts, prompts: PromptCounts) {
  return {
    /**
     * Counts an incoming call; the same call counts once. It counts even if the caller hangs up at once, because the
     * carrier bills every started minute.
     * @returns an error when a limit is reached: SPEND_LIMIT_EXCEEDED, or RATE_LIMIT_EXCEEDED for the limits of test
     *   calls and of prompts
     */
    async admitReceived(call: PromptedCall): Promise<ServiceError | undefined> {
      const reached = (await accountCounts.waivedFault(call)) ?? (await accountCounts.countReceived(call));
      if (reached) return reached;
      const tooLong = await prompts.count(call);
      if (tooLong) await accountCounts.releaseReceived(call);
      return tooLong;
    },

    /** Undoes {@link admitReceived}, once, for a call that is not accepted. */
    async withdrawReceived(call: PromptedCall): Promise<void> {
      await accountCounts.releaseReceived(call);
      await prompts.release(call);
    },
  };
}

/** Updates counted attempts when their outcome is known. */
function createAttemptEnds(deps: { attempts: UnansweredAttempts; requests: DialedCalls; isCounted: boolean }) {
  const { attempts, requests, isCounted } = deps;

  /** The attempt of an outbound live call; undefined where attempts are not counted. */
  async function attemptOf(callId: string): Promise<Attempt | undefined> {
    if (!isCounted) return undefined;
    const request = await requests.find(callId);
    if (request?.mode !== 'live' || request.direction !== 'outbound') return undefined;
    return { callId, leg: 'call', to: request.toPhoneNumber, accountId: request.accountId };
  }

  return {
    /** The call was answered, so it is no longer an unanswered attempt. */
    async answered(callId: string): Promise<void> {
      const attempt = await attemptOf(callId);
      if (attempt !== undefined) await attempts.answered(attempt);
    },

    /** The call is over and was provably never dialed. */
    async notDialed(callId: string): Promise<void> {
      const attempt = await attemptOf(callId);
      if (attempt !== undefined) await attempts.notDialed(attempt);
    },

    /** The account canceled the call so soon that the phone hardly rang. */
    async hardlyRang(callId: string): Promise<void> {
      const attempt = await attemptOf(callId);
      if (attempt !== undefined) await attempts.hardlyRang(attempt);
    },

    /** The number that a live call was transferred to has answered. */
    async transferAnswered(callId: string, to: string): Promise<void> {
      if (!isCounted) return;
      const request = await requests.find(callId);
      await attempts.answered({ callId, leg: 'transfer', to, ...(request && { accountId: request.accountId }) });
    },
  };
}

/** The caps of the account and of the destination. A dial counts against all of them, or against none. */
function createCaps(destinationCounts: DestinationCounts, accountCounts: AccountCounts, prompts: PromptCounts) {
  return {
    async count(dial: PlannedDial): Promise<ServiceError | undefined> {
      const refused = await accountCounts.count(dial);
      if (refused) return refused;
      const reached = await destinationCounts.count(counted(dial));
      const fault = reached === undefined ? await prompts.count(dial) : capReached(reached);
      if (fault === undefined) return undefined;
      if (reached === undefined) await destinationCounts.release(counted(dial));
      await accountCounts.release(dial);
      return fault;
    },

    async release(dial: PlannedDial): Promise<void> {
      await destinationCounts.release(counted(dial));
      await accountCounts.release(dial);
      await prompts.release(dial);
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

/** Does not mention whose attempts these were: an account must not learn about the calls of other accounts. */
function tooManyAttempts(): ServiceError {
  const message = 'This number gets no more attempts without an answer in this hour. Try again in the next hour.';
  return new ServiceError('SPEND_LIMIT_EXCEEDED', message);
}
