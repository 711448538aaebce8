import { ulid } from 'ulid';
import { MAX_LIVE_CALLS_PER_DAY, MAX_UNANSWERED_ATTEMPTS, type LiveLimits } from '../../platform/config/live-limits.js';
import type { DestinationCap } from '../../kernel/destinations/destinations.js';
import { accountNotFound, limitReached } from '../../kernel/common-errors.js';
import { ServiceError } from '../../kernel/errors.js';
import { invalidParam } from '../../kernel/invalid-request.js';
import { ledgerAccountId, type Mode } from '../../kernel/ids.js';
import { MICROS_PER_USD, type Micros } from '../../kernel/money.js';
import { characterCount } from '../../kernel/text.js';
import { isDuplicateKey } from '../../platform/mongo/connection.js';
import { driverCollection } from '../../platform/mongo/driver-collection.js';
import { ignoreWrites, type OnWrite } from '../../platform/mongo/writes.js';
import type { IdentityDatabase } from '../database.js';
import { createLedger } from '../../billing/ledger/ledger.js';
import { LIFTABLE_LIMITS, PLANS, type AccountDocument, type Plan } from './model.js';

/** The limits of an account in one mode. */
export interface Limits {
  /** Per API key. */
  requestsPerMinute: number;
  /** Per account and mode. */
  concurrentCalls: number;
  /** Per account and mode, per UTC day; absent: unlimited. */
  dailySpendCapMicros?: Micros;
  /** Per called number, per UTC hour; absent: unlimited. */
  unansweredAttemptsPerHour?: number;
  /** Live calls and transfers per account and UTC day; absent: unlimited. */
  liveCallsPerDay?: number;
}

const LIMITS_OF_PLAN: Record<Plan, Limits> = {
  trial: { requestsPerMinute: 60, concurrentCalls: 2 },
  standard: { requestsPerMinute: 300, concurrentCalls: 10 },
  growth: { requestsPerMinute: 1_200, concurrentCalls: 50 },
  scale: { requestsPerMinute: 3_000, concurrentCalls: 500 },
};

const LIMITS_OF_TEST_MODE: Limits = { requestsPerMinute: 600, concurrentCalls: 100 };
/** Anyone can open a trial account at no cost, and several of them. */
const CONCURRENT_TEST_CALLS_OF_TRIAL = 20;

/** Opening balance of test mode, which is not real money. */
export const TEST_BALANCE_MICROS = 1_000 * MICROS_PER_USD;

/** Opening balance of test mode until the owner's e-mail address is verified. */
export const UNVERIFIED_TEST_BALANCE_MICROS = MICROS_PER_USD;
const UNVERIFIED_CONCURRENT_CALLS = 1;

const MAX_NAME_LENGTH = 100;

const MAX_DESTINATION_CAPS = 100;
/** Maximum counted calls per period, because one document stores the ids of all counted calls. */
const MAX_DESTINATION_CALLS = 10_000;

/**
 * Returns the limits of an account in one mode: the limit that an operator set for it, else that of the plan (or of
 * test mode). Live calls also have the service's default limits, if there are any.
 * @param defaults absent if live calls cost the operator nothing
 * @param testSpendCapMicros what test calls of an account may use in a day
 */
export function limitsOf(
  account: AccountDocument,
  mode: Mode,
  defaults: LiveLimits | undefined,
  testSpendCapMicros = Infinity,
): Limits {
  const standard = mode === 'test' ? testLimitsOf(account.plan) : LIMITS_OF_PLAN[account.plan];
  const concurrentCalls = account.concurrentCalls ?? standard.concurrentCalls;
  return {
    requestsPerMinute: account.requestsPerMinute ?? standard.requestsPerMinute,
    concurrentCalls: account.unverified ? Math.min(concurrentCalls, UNVERIFIED_CONCURRENT_CALLS) : concurrentCalls,
    ...spendCapOf(Math.min(account.dailySpendCapMicros ?? Infinity, mode === 'test' ? testSpendCapMicros : Infinity)),
    ...(mode === 'live' && defaults !== undefined ? liveLimitsFor(account, defaults) : {}),
  };
}

function testLimitsOf(plan: Plan): Limits {
  return plan === 'trial'
    ? { ...LIMITS_OF_TEST_MODE, concurrentCalls: CONCURRENT_TEST_CALLS_OF_TRIAL }
    : LIMITS_OF_TEST_MODE;
}

function spendCapOf(dailySpendCapMicros: Micros): Pick<Limits, 'dailySpendCapMicros'> {
  return dailySpendCapMicros === Infinity ? {} : { dailySpendCapMicros };
}

function liveLimitsFor(account: AccountDocument, defaults: LiveLimits): LiveLimits {
  const limits = LIFTABLE_LIMITS.map((name) => [
    name,
    account[name] ?? (account.liftedLimits?.includes(name) === true ? undefined : defaults[name]),
  ]);
  return Object.fromEntries(limits.filter(([, limit]) => limit !== undefined)) as LiveLimits;
}

/** Returns the opening test balance of an account in micro-USD. Refills restore this amount. */
export function testBalanceOf({ unverified }: Pick<AccountDocument, 'unverified'>): Micros {
  return unverified ? UNVERIFIED_TEST_BALANCE_MICROS : TEST_BALANCE_MICROS;
}

/**
 * Changes to an account's limits: null restores the default, `none` removes the limit, an absent field stays unchanged.
 */
export interface LimitChanges {
  plan?: Plan;
  requestsPerMinute?: number | null;
  concurrentCalls?: number | null;
  /** In micro-USD. */
  dailySpendCapMicros?: Micros | 'none' | null;
  unansweredAttemptsPerHour?: number | 'none' | null;
  liveCallsPerDay?: number | 'none' | null;
  /** E.164 prefixes that may be called; null: all. */
  allowedCountryPrefixes?: readonly string[] | null;
  /** Replaces all destination rules of the account; null: none. */
  destinationCaps?: readonly DestinationCap[] | null;
}

export type Accounts = ReturnType<typeof createAccounts>;

/**
 * Manages customer accounts. Expected errors are ServiceErrors: MISSING_PARAMS for a field, NOT_FOUND for an unknown
 * account.
 */
export function createAccounts(database: IdentityDatabase) {
  const ledger = createLedger(database);
  const documents = driverCollection<AccountDocument>(database, database.accounts);

  async function change(accountId: string, changes: Record<string, unknown>): Promise<AccountDocument> {
    const account = await database.credentials.change(() =>
      database.accounts
        .findOneAndUpdate({ _id: accountId }, updateOf(changes), { returnDocument: 'after' })
        .lean<AccountDocument>()
        .exec(),
    );
    if (!account) throw accountNotFound(accountId);
    return account;
  }

  /** Returns the update for those changed limits that an operator can remove with the value `none`. */
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
     * Creates an account with an empty live balance and the opening test balance.
     * @param p.accountId a fixed id, which makes repeated creation idempotent
     */
    async create(p: { name: string; plan?: Plan; accountId?: string; unverified?: true }): Promise<AccountDocument> {
      const account: AccountDocument = {
        _id: p.accountId ?? `acct_${ulid()}`,
        name: checkedName(p.name),
        plan: checkedPlan(p.plan ?? 'trial'),
        ...(p.unverified ? { unverified: true } : {}),
        createdAt: new Date(),
      };
      // Open the balances first, so that no account exists without them.
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

    /** Gives a verified account its full limits and credits the rest of its test balance, once. */
    async verify(accountId: string): Promise<void> {
      const account = await this.find(accountId);
      if (!account?.unverified) return;
      await ledger.topUp({
        ledgerAccountId: ledgerAccountId(accountId, 'test'),
        paymentId: 'verification',
        amountMicros: TEST_BALANCE_MICROS - UNVERIFIED_TEST_BALANCE_MICROS,
      });
      const verified = { $unset: { unverified: '' } };
      await database.credentials.change(() => database.accounts.updateOne({ _id: accountId }, verified).exec());
    },

    find(accountId: string): Promise<AccountDocument | null> {
      return documents.findOne({ _id: accountId });
    },

    /**
     * Reads an account again whose document may come from the cache of keys, for responses that show its settings, which
     * another process may just have changed.
     */
    async current(account: AccountDocument): Promise<AccountDocument> {
      return (await this.find(account._id)) ?? account;
    },

    list(): Promise<AccountDocument[]> {
      return database.accounts.find().sort({ createdAt: 1, _id: 1 }).lean<AccountDocument[]>().exec();
    },

    async setLimits(accountId: string, changes: LimitChanges): Promise<AccountDocument> {
      if (changes.plan !== undefined) checkedPlan(changes.plan);
      checkLimit('--requests-per-minute', changes.requestsPerMinute);
      checkLimit('--concurrent-calls', changes.concurrentCalls);
      checkSpendCap(changes.dailySpendCapMicros);
      checkCount('--unanswered-attempts', changes.unansweredAttemptsPerHour, MAX_UNANSWERED_ATTEMPTS);
      checkCount('--live-calls-per-day', changes.liveCallsPerDay, MAX_LIVE_CALLS_PER_DAY);
      for (const prefix of changes.allowedCountryPrefixes ?? []) checkPrefix(prefix);
      checkDestinationCaps(changes.destinationCaps ?? []);
      return change(accountId, { ...changes, ...(await liftings(accountId, changes)) });
    },

    /** @param pool name of the pool of carrier accounts for live calls; null: the called number decides */
    setCarrierPool(accountId: string, pool: string | null): Promise<AccountDocument> {
      return change(accountId, { carrierPool: pool });
    },

    ...createOwnChanges(database, change),
  };
}

/** Changes that an account makes itself. */
function createOwnChanges(
  { accounts }: Pick<IdentityDatabase, 'accounts'>,
  change: (accountId: string, changes: Record<string, unknown>) => Promise<AccountDocument>,
) {
  /** A change that changes nothing must not make all processes read their keys again. */
  async function changeIfOther(
    accountId: string,
    changes: Partial<Record<'name' | 'inboundAgentId', string | null>>,
    onWrite: OnWrite,
  ): Promise<AccountDocument> {
    const account = await accounts.findById(accountId).lean<AccountDocument>();
    const { name, inboundAgentId } = { ...account, ...changes };
    const isSame = name === account?.name && (inboundAgentId ?? undefined) === account?.inboundAgentId;
    if (account !== null && isSame) return account;
    const changed = await change(accountId, changes);
    onWrite();
    return changed;
  }

  return {
    /** @param onWrite called unless it has this name already */
    rename(accountId: string, name: string, onWrite = ignoreWrites): Promise<AccountDocument> {
      return changeIfOther(accountId, { name: checkedName(name) }, onWrite);
    },

    /**
     * Stores the agent for inbound calls to this account's numbers; the agents domain validates it first.
     * @param onWrite called unless it is this agent already
     */
    storeInboundAgent(accountId: string, agentId: string | null, onWrite = ignoreWrites): Promise<AccountDocument> {
      return changeIfOther(accountId, { inboundAgentId: agentId }, onWrite);
    },
  };
}

/** Builds an update: `$set` for values, `$unset` for nulls; undefined fields are skipped. */
export function updateOf(changes: Record<string, unknown>): { $set?: object; $unset?: object } {
  const given = Object.entries(changes).filter(([, value]) => value !== undefined);
  const set = given.filter(([, value]) => value !== null);
  const unset = given.filter(([, value]) => value === null).map(([name]) => [name, '']);
  return {
    ...(set.length > 0 ? { $set: Object.fromEntries(set) } : {}),
    ...(unset.length > 0 ? { $unset: Object.fromEntries(unset) } : {}),
  };
}

/** @throws ServiceError MISSING_PARAMS unless it is a name of 1 to 100 characters */
export function checkedName(name: unknown): string {
  const text = typeof name === 'string' ? name.trim() : '';
  if (text.length > 0 && characterCount(text) <= MAX_NAME_LENGTH) return text;
  throw invalidParam('name', `name must have 1 to ${MAX_NAME_LENGTH} characters.`);
}

function checkedPlan(plan: Plan): Plan {
  if (PLANS.includes(plan)) return plan;
  throw invalidParam('plan', `plan must be one of ${PLANS.join(', ')}.`);
}

function checkPrefix(prefix: string): void {
  if (/^\+[1-9]\d{0,14}$/.test(prefix)) return;
  throw new ServiceError('MISSING_PARAMS', `${prefix} is not a prefix. Use a plus sign and digits, like +44.`);
}

function checkDestinationCaps(caps: readonly DestinationCap[]): void {
  if (caps.length > MAX_DESTINATION_CAPS) {
    throw new ServiceError(
      'MISSING_PARAMS',
      limitReached({
        of: 'An account',
        most: MAX_DESTINATION_CAPS,
        items: 'destination rules',
        remedy: 'Remove a rule from --destination-caps.',
      }),
    );
  }
  const prefixes = new Set<string>();
  for (const { prefix, callsPerHour, callsPerDay } of caps) {
    checkPrefix(prefix);
    if (prefixes.has(prefix))
      throw new ServiceError('MISSING_PARAMS', `--destination-caps must have only one rule for ${prefix}.`);
    prefixes.add(prefix);
    for (const limit of [callsPerHour, callsPerDay]) {
      if (limit === undefined || (Number.isInteger(limit) && limit >= 0 && limit <= MAX_DESTINATION_CALLS)) continue;
      throw new ServiceError(
        'MISSING_PARAMS',
        `--destination-caps: each cap must be a whole number from 0 to ${MAX_DESTINATION_CALLS.toLocaleString('en-US')}.`,
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
  throw new ServiceError(
    'MISSING_PARAMS',
    '--daily-spend-cap must be an amount in USD of at least 0, none or default.',
  );
}

function checkCount(name: string, limit: number | 'none' | null | undefined, max: number): void {
  if (limit === null || limit === undefined || limit === 'none') return;
  if (Number.isInteger(limit) && limit >= 0 && limit <= max) return;
  throw new ServiceError('MISSING_PARAMS', `${name} must be a whole number from 0 to ${max.toLocaleString('en-US')}.`);
}
