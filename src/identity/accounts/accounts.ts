import { ulid } from 'ulid';
import { MAX_LIVE_CALLS_PER_DAY, MAX_UNANSWERED_ATTEMPTS, type LiveLimits } from '../../platform/config/live-limits.js';
import type { DestinationCap } from '../../kernel/destinations/destinations.js';
import { ServiceError } from '../../kernel/errors.js';
import { ledgerAccountId, type Mode } from '../../kernel/ids.js';
import { MICROS_PER_USD, type Micros } from '../../kernel/money.js';
import { characterCount } from '../../kernel/text.js';
import { isDuplicateKey } from '../../platform/mongo/connection.js';
import type { IdentityDatabase } from '../database.js';
import { createLedger } from '../../billing/ledger/ledger.js';
import { LIFTABLE_LIMITS, PLANS, type AccountDocument, type Plan } from './model.js';

export interface Limits {
  /** Per API key. */
  requestsPerMinute: number;
  /** Per account and mode. */
  concurrentCalls: number;
  /** Per account and mode, per UTC day; absent: no limit. */
  dailySpendCapMicros?: Micros;
  /** Per number that is called, per UTC hour; absent: no limit. */
  unansweredAttemptsPerHour?: number;
  /** Live calls and transfers per account and UTC day; absent: no limit. */
  liveCallsPerDay?: number;
}

const LIMITS_OF_PLAN: Record<Plan, Limits> = {
  trial: { requestsPerMinute: 60, concurrentCalls: 2 },
  standard: { requestsPerMinute: 300, concurrentCalls: 10 },
  growth: { requestsPerMinute: 1_200, concurrentCalls: 50 },
  scale: { requestsPerMinute: 3_000, concurrentCalls: 500 },
};

const LIMITS_OF_TEST_MODE: Limits = { requestsPerMinute: 600, concurrentCalls: 100 };

/** Test mode starts with this much play money. */
export const TEST_BALANCE_MICROS = 1_000 * MICROS_PER_USD;

/** What of it an account has until its owner's e-mail address is verified. */
export const UNVERIFIED_TEST_BALANCE_MICROS = MICROS_PER_USD;
const UNVERIFIED_CONCURRENT_CALLS = 1;

const MAX_NAME_LENGTH = 100;

const MAX_DESTINATION_CAPS = 100;
/** The counted calls of a period stand in one document, by their ids. */
const MAX_DESTINATION_CALLS = 10_000;

/**
 * What applies to an account in a mode: an operator's override of the account, else the plan's (or test mode's), and for
 * live calls on a real carrier the service's.
 * @param defaults absent where live calls go to the simulated carrier, which nobody answers or pays for
 */
export function limitsOf(account: AccountDocument, mode: Mode, defaults: LiveLimits | undefined): Limits {
  const standard = mode === 'test' ? LIMITS_OF_TEST_MODE : LIMITS_OF_PLAN[account.plan];
  const concurrentCalls = account.concurrentCalls ?? standard.concurrentCalls;
  return {
    requestsPerMinute: account.requestsPerMinute ?? standard.requestsPerMinute,
    concurrentCalls: account.unverified ? Math.min(concurrentCalls, UNVERIFIED_CONCURRENT_CALLS) : concurrentCalls,
    ...(account.dailySpendCapMicros === undefined ? {} : { dailySpendCapMicros: account.dailySpendCapMicros }),
    ...(mode === 'live' && defaults !== undefined ? liveLimitsFor(account, defaults) : {}),
  };
}

function liveLimitsFor(account: AccountDocument, defaults: LiveLimits): LiveLimits {
  const limits = LIFTABLE_LIMITS.map((name) => [
    name,
    account[name] ?? (account.liftedLimits?.includes(name) === true ? undefined : defaults[name]),
  ]);
  return Object.fromEntries(limits.filter(([, limit]) => limit !== undefined)) as LiveLimits;
}

/** The test balance that an account begins with and is refilled to, in micro-USD. */
export function testBalanceOf({ unverified }: Pick<AccountDocument, 'unverified'>): Micros {
  return unverified ? UNVERIFIED_TEST_BALANCE_MICROS : TEST_BALANCE_MICROS;
}

/** Changes of an account's limits; null returns to the default, `none` lifts a default, an absent field stays as it is. */
export interface LimitChanges {
  plan?: Plan;
  requestsPerMinute?: number | null;
  concurrentCalls?: number | null;
  /** Micro-USD. */
  dailySpendCapMicros?: Micros | 'none' | null;
  unansweredAttemptsPerHour?: number | 'none' | null;
  liveCallsPerDay?: number | 'none' | null;
  /** E.164 prefixes that may be called; null: all. */
  allowedCountryPrefixes?: readonly string[] | null;
  /** All of the account's rules for destinations, in place of those it has; null: none. */
  destinationCaps?: readonly DestinationCap[] | null;
}

export type Accounts = ReturnType<typeof createAccounts>;

/** Customers. Expected refusals are ServiceErrors: MISSING_PARAMS for a bad field, NOT_FOUND for an unknown account. */
export function createAccounts(database: IdentityDatabase) {
  const ledger = createLedger(database);

  async function change(accountId: string, changes: Record<string, unknown>): Promise<AccountDocument> {
    const account = await database.accounts
      .findOneAndUpdate({ _id: accountId }, updateOf(changes), { returnDocument: 'after' })
      .lean<AccountDocument>();
    if (!account) throw new ServiceError('NOT_FOUND', `There is no account ${accountId}.`);
    return account;
  }

  /** The changes of limits that can be lifted, as they are stored. */
  async function liftings(accountId: string, changes: LimitChanges): Promise<Record<string, unknown>> {
    const given = LIFTABLE_LIMITS.filter((name) => changes[name] !== undefined);
    if (given.length === 0) return {};
    const account = await database.accounts.findById(accountId).lean<AccountDocument>();
    const kept = (account?.liftedLimits ?? []).filter((name) => !given.includes(name));
    const lifted = [...kept, ...given.filter((name) => changes[name] === 'none')];
    const values = given.map((name) => [name, changes[name] === 'none' ? null : changes[name]]);
    return { ...Object.fromEntries(values), liftedLimits: lifted.length === 0 ? null : lifted };
  }

  return {
    /**
     * Creates an account with an empty live balance and the test balance.
     * @param p.accountId a fixed id, where creating twice must make one account
     */
    async create(p: { name: string; plan?: Plan; accountId?: string; unverified?: true }): Promise<AccountDocument> {
      const account: AccountDocument = {
        _id: p.accountId ?? `acct_${ulid()}`,
        name: checkedName(p.name),
        plan: checkedPlan(p.plan ?? 'trial'),
        ...(p.unverified ? { unverified: true } : {}),
        createdAt: new Date(),
      };
      // The balances come first, so that no account exists without them.
      await ledger.open(ledgerAccountId(account._id, 'live'));
      const test = ledgerAccountId(account._id, 'test');
      await ledger.open(test);
      await ledger.topUp({ ledgerAccountId: test, paymentId: 'opening', amountMicros: testBalanceOf(account) });
      try {
        await database.accounts.create([account]);
        return account;
      } catch (error) {
        if (p.accountId === undefined || !isDuplicateKey(error)) throw error;
        return (await this.find(account._id)) ?? account;
      }
    },

    /** Lifts the limits of an unverified account and credits the rest of its test balance, once. */
    async verify(accountId: string): Promise<void> {
      const account = await this.find(accountId);
      if (!account?.unverified) return;
      await ledger.topUp({
        ledgerAccountId: ledgerAccountId(accountId, 'test'),
        paymentId: 'verification',
        amountMicros: TEST_BALANCE_MICROS - UNVERIFIED_TEST_BALANCE_MICROS,
      });
      await database.accounts.updateOne({ _id: accountId }, { $unset: { unverified: '' } });
    },

    find(accountId: string): Promise<AccountDocument | null> {
      return database.accounts.findOne({ _id: accountId }).lean<AccountDocument>().exec();
    },

    list(): Promise<AccountDocument[]> {
      return database.accounts.find().sort({ createdAt: 1, _id: 1 }).lean<AccountDocument[]>().exec();
    },

    async setLimits(accountId: string, changes: LimitChanges): Promise<AccountDocument> {
      if (changes.plan !== undefined) checkedPlan(changes.plan);
      checkLimit('requestsPerMinute', changes.requestsPerMinute);
      checkLimit('concurrentCalls', changes.concurrentCalls);
      checkSpendCap(changes.dailySpendCapMicros);
      checkCount('unansweredAttemptsPerHour', changes.unansweredAttemptsPerHour, MAX_UNANSWERED_ATTEMPTS);
      checkCount('liveCallsPerDay', changes.liveCallsPerDay, MAX_LIVE_CALLS_PER_DAY);
      for (const prefix of changes.allowedCountryPrefixes ?? []) checkPrefix(prefix);
      checkDestinationCaps(changes.destinationCaps ?? []);
      return change(accountId, { ...changes, ...(await liftings(accountId, changes)) });
    },

    rename(accountId: string, name: string): Promise<AccountDocument> {
      return change(accountId, { name: checkedName(name) });
    },

    /** Stores which agent conducts calls to this account's numbers; the agents domain checks it before. */
    storeInboundAgent(accountId: string, agentId: string | null): Promise<AccountDocument> {
      return change(accountId, { inboundAgentId: agentId });
    },
  };
}

/** `$set` of what has a value, `$unset` of what is null. */
export function updateOf(changes: Record<string, unknown>): { $set?: object; $unset?: object } {
  const given = Object.entries(changes).filter(([, value]) => value !== undefined);
  const set = given.filter(([, value]) => value !== null);
  const unset = given.filter(([, value]) => value === null).map(([name]) => [name, '']);
  return {
    ...(set.length > 0 ? { $set: Object.fromEntries(set) } : {}),
    ...(unset.length > 0 ? { $unset: Object.fromEntries(unset) } : {}),
  };
}

/** @throws ServiceError when it is not a name of 1 to 100 characters */
export function checkedName(name: unknown): string {
  const text = typeof name === 'string' ? name.trim() : '';
  if (text.length > 0 && characterCount(text) <= MAX_NAME_LENGTH) return text;
  throw new ServiceError('MISSING_PARAMS', `name must have 1 to ${MAX_NAME_LENGTH} characters.`);
}

function checkedPlan(plan: Plan): Plan {
  if (PLANS.includes(plan)) return plan;
  throw new ServiceError('MISSING_PARAMS', `plan must be one of ${PLANS.join(', ')}.`);
}

function checkPrefix(prefix: string): void {
  if (/^\+[1-9]\d{0,14}$/.test(prefix)) return;
  throw new ServiceError('MISSING_PARAMS', `${prefix} is not the beginning of an E.164 number, like +44.`);
}

function checkDestinationCaps(caps: readonly DestinationCap[]): void {
  if (caps.length > MAX_DESTINATION_CAPS) {
    throw new ServiceError('MISSING_PARAMS', `An account has at most ${MAX_DESTINATION_CAPS} destination rules.`);
  }
  const prefixes = new Set<string>();
  for (const { prefix, callsPerHour, callsPerDay } of caps) {
    checkPrefix(prefix);
    if (prefixes.has(prefix)) throw new ServiceError('MISSING_PARAMS', `There are two rules for ${prefix}.`);
    prefixes.add(prefix);
    for (const limit of [callsPerHour, callsPerDay]) {
      if (limit === undefined || (Number.isInteger(limit) && limit >= 0 && limit <= MAX_DESTINATION_CALLS)) continue;
      throw new ServiceError(
        'MISSING_PARAMS',
        `A destination cap must be a whole number from 0 to ${MAX_DESTINATION_CALLS.toLocaleString('en-US')}.`,
      );
    }
  }
}

function checkLimit(name: string, limit: number | null | undefined): void {
  if (limit === null || limit === undefined) return;
  if (Number.isInteger(limit) && limit >= 0 && limit <= 1_000_000) return;
  throw new ServiceError('MISSING_PARAMS', `${name} must be a whole number from 0 to 1,000,000.`);
}

function checkSpendCap(cap: Micros | 'none' | null | undefined): void {
  if (cap === null || cap === undefined || cap === 'none' || (Number.isSafeInteger(cap) && cap >= 0)) return;
  throw new ServiceError('MISSING_PARAMS', 'dailySpendCapMicros must be a whole number of micro-USD, at least 0.');
}

function checkCount(name: string, limit: number | 'none' | null | undefined, max: number): void {
  if (limit === null || limit === undefined || limit === 'none') return;
  if (Number.isInteger(limit) && limit >= 0 && limit <= max) return;
  throw new ServiceError('MISSING_PARAMS', `${name} must be a whole number from 0 to ${max.toLocaleString('en-US')}.`);
}
