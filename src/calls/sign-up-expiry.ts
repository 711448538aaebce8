import { isFinalStatus, CALL_STATUSES } from '../kernel/call-state.js';
import { ledgerAccountId } from '../kernel/ids.js';
import type { CallsDatabase } from './database.js';
import type { UserDocument } from '../identity/people/model.js';
import type { Logger } from '../platform/telemetry/logger.js';
import { tryEach } from '../platform/try-each.js';

const DAY_MS = 24 * 3_600_000;
const LIFETIME_MS = 7 * DAY_MS;
/** A verification that started this long ago no longer keeps the sign-up: its link is valid for half an hour only. */
const VERIFYING_MS = DAY_MS;
/** By then, requests that were in progress when the API keys were deleted have finished. */
const SETTLED_AFTER_MS = 3_600_000;
const AT_ONCE = 100;
const AUDIT_ENTRIES_AT_ONCE = 1_000;
/** What one run does not finish, the next one continues. */
const RUN_BUDGET_MS = 15_000;
const NOBODY = 'expired sign-up';

const UNFINISHED = { $in: CALL_STATUSES.filter((status) => !isFinalStatus(status)) };

/**
 * Deletes sign-ups whose email address was not verified within 7 days. A sign-up is first marked expired, after which
 * it cannot be verified, and then deleted, the user last, so that the next run completes an interrupted one. The ledger
 * stays, and so does the audit log, without the address. A sign-up whose account has live credit is kept; from an
 * account with other members only the user is deleted.
 */
export function createSignUpExpiry(deps: {
  database: CallsDatabase;
  /** Erases a call's personal data. */
  eraseCall: (call: { callId: string }) => Promise<void>;
  logger: Logger;
}) {
  const {
    unverifiedUsers,
    users,
    accounts,
    apiKeys,
    sessions,
    auditEntries,
    emailLinks,
    agents,
    phoneNumbers,
    invitations,
    calls,
    ledgerAccounts,
  } = deps.database;

  const broughtMoney = (accountId: string) =>
    ledgerAccounts.exists({ _id: ledgerAccountId(accountId, 'live'), creditedMicros: { $gt: 0 } });

  async function expire(now: number, until: number): Promise<void> {
    const due = {
      createdAt: { $lte: new Date(now - LIFETIME_MS) },
      invited: null,
      kept: null,
      expiredAt: null,
      $or: [{ verifyingSince: null }, { verifyingSince: { $lte: new Date(now - VERIFYING_MS) } }],
    };
    await tryEach(await unverifiedUsers.find(due).limit(AT_ONCE).lean<UserDocument[]>(), {
      until,
      failed,
      async work({ _id, accountId }) {
        const change = (await broughtMoney(accountId)) ? { kept: true } : { expiredAt: new Date(now) };
        // The filter skips the user if a verification has started since.
        await unverifiedUsers.updateOne({ ...due, _id }, { $set: change });
      },
    });
  }

  function failed(err: unknown, { _id: userId }: UserDocument): void {
    deps.logger.error({ err, userId }, 'a sign-up could not be ended');
  }

  /** @returns whether the account and everything that belongs to it is deleted */
  async function removeAccount({ _id, accountId, expiredAt }: UserDocument, { now, until }: Run): Promise<boolean> {
    await apiKeys.deleteMany({ accountId });
    if (expiredAt === undefined || now - expiredAt.getTime() < SETTLED_AFTER_MS) return false;
    if (await broughtMoney(accountId)) {
      await unverifiedUsers.updateOne({ _id }, { $set: { kept: true }, $unset: { expiredAt: '' } });
      return false;
    }
    if (await calls.exists({ accountId, status: UNFINISHED })) return false;
    const left = await calls.find({ accountId, erasedAt: null }, { _id: 1 }).limit(AT_ONCE).lean<{ _id: string }[]>();
    for (const call of left) {
      if (Date.now() >= until) return false;
      await deps.eraseCall({ callId: call._id });
    }
    if (left.length === AT_ONCE) return false;
    for (const model of [agents, phoneNumbers, invitations]) await model.collection.deleteMany({ accountId });
    await accounts.deleteOne({ _id: accountId });
    return true;
  }

  /** @returns whether the audit log no longer contains the address */
  async function forgetName(actorId: string, until: number): Promise<boolean> {
    const named = { actorId, actorName: { $ne: NOBODY } };
    while (Date.now() < until) {
      const rows = await auditEntries.find(named, { _id: 1 }).limit(AUDIT_ENTRIES_AT_ONCE).lean<{ _id: string }[]>();
      const ids = rows.map(({ _id }) => _id);
      await auditEntries.updateMany({ _id: { $in: ids } }, { $set: { actorName: NOBODY } });
      if (ids.length < AUDIT_ENTRIES_AT_ONCE) return true;
    }
    return false;
  }

  async function remove(user: UserDocument, run: Run): Promise<boolean> {
    const { _id, accountId } = user;
    const { now, until } = run;
    // Moves this user to the end of the next run's order, so that users that cannot be deleted do not delay the others.
    await unverifiedUsers.updateOne({ _id }, { $set: { removalTriedAt: new Date(now) } });
    await sessions.deleteMany({ userId: _id });
    const others =
      (await users.exists({ accountId })) ??
      (await unverifiedUsers.exists({ accountId, _id: { $ne: _id }, expiredAt: null }));
    if (others === null && !(await removeAccount(user, run))) return false;
    if (!(await forgetName(_id, until))) return false;
    await emailLinks.deleteMany({ subject: user.email, expiresAt: { $lte: new Date(now) } });
    await unverifiedUsers.deleteOne({ _id });
    return true;
  }

  return {
    /**
     * Runs once, for a bounded time; the next run continues. Failures are logged and retried after the other sign-ups.
     * @returns number of deleted sign-ups
     */
    async run(now = Date.now()): Promise<number> {
      const until = Date.now() + RUN_BUDGET_MS;
      await expire(now, until);
      const expired = await unverifiedUsers
        .find({ expiredAt: { $ne: null } })
        .sort({ removalTriedAt: 1, expiredAt: 1 })
        .limit(AT_ONCE)
        .lean<UserDocument[]>();
      const removed = await tryEach(expired, { until, failed, work: (user) => remove(user, { now, until }) });
      return removed.filter(Boolean).length;
    },
  };
}

/** One run: its reference time `now` and its deadline `until`, in ms since the epoch. */
interface Run {
  now: number;
  until: number;
}
