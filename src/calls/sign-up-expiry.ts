import { isFinalStatus, CALL_STATUSES } from '../kernel/call-state.js';
import { ledgerAccountId } from '../kernel/ids.js';
import type { CallsDatabase } from './database.js';
import type { UserDocument } from '../identity/people/model.js';
import type { Logger } from '../platform/telemetry/logger.js';
import { tryEach } from '../platform/try-each.js';

const DAY_MS = 24 * 3_600_000;
const LIFETIME_MS = 7 * DAY_MS;
/** A verification that was cut short is completed within the half hour that its link is valid for. */
const VERIFYING_MS = DAY_MS;
/** Requests that were under way when the keys went are over by then. */
const SETTLED_AFTER_MS = 3_600_000;
const AT_ONCE = 100;
const AUDIT_ENTRIES_AT_ONCE = 1_000;
/** What a run leaves, the next goes on with. */
const RUN_BUDGET_MS = 15_000;
const NOBODY = 'expired sign-up';

const UNFINISHED = { $in: CALL_STATUSES.filter((status) => !isFinalStatus(status)) };

/**
 * Ends sign-ups whose address nobody verified within 7 days. Each expires first, which no verification can do any more,
 * and is deleted afterwards, the person last: a run that was cut off is completed by the next. The ledger stays, and the audit
 * log without the address. A sign-up that brought money is kept, and an account that has other members loses the person only.
 */
export function createSignUpExpiry(deps: {
  database: CallsDatabase;
  /** Takes what is personal out of a call. */
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
        // Unless a verification has begun since.
        await unverifiedUsers.updateOne({ ...due, _id }, { $set: change });
      },
    });
  }

  function failed(err: unknown, { _id: userId }: UserDocument): void {
    deps.logger.error({ err, userId }, 'a sign-up could not be ended');
  }

  /** @returns whether everything that hung on the account is gone */
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

  /** @returns whether the address stands nowhere in the audit log any more */
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
    // Tried last next time, so that those which cannot be removed keep no others waiting.
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
     * One run, bounded; what it leaves, the next goes on with. A sign-up that cannot be ended is logged and tried again after
     * the others.
     * @returns how many sign-ups were deleted
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

/** One run: the time that it is about, and when it ends at the latest; ms since the epoch. */
interface Run {
  now: number;
  until: number;
}
