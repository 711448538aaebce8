import { isFinalStatus, CALL_STATUSES } from '../kernel/call-state.js';
import { ledgerAccountId } from '../kernel/ids.js';
import type { CallsDatabase } from './database.js';
import type { UserDocument } from '../identity/people/model.js';

const DAY_MS = 24 * 3_600_000;
const LIFETIME_MS = 7 * DAY_MS;
/** A verification that was cut short is completed within the half hour that its link is valid for. */
const VERIFYING_MS = DAY_MS;
/** Requests that were under way when the keys went are over by then. */
const SETTLED_AFTER_MS = 3_600_000;
const AT_ONCE = 100;

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

  async function expire(now: number): Promise<void> {
    const due = {
      createdAt: { $lte: new Date(now - LIFETIME_MS) },
      invited: null,
      kept: null,
      expiredAt: null,
      $or: [{ verifyingSince: null }, { verifyingSince: { $lte: new Date(now - VERIFYING_MS) } }],
    };
    for (const { _id, accountId } of await unverifiedUsers.find(due).limit(AT_ONCE).lean<UserDocument[]>()) {
      const change = (await broughtMoney(accountId)) ? { kept: true } : { expiredAt: new Date(now) };
      // Unless a verification has begun since.
      await unverifiedUsers.updateOne({ ...due, _id }, { $set: change });
    }
  }

  /** @returns whether everything that hung on the account is gone */
  async function removeAccount({ _id, accountId, expiredAt }: UserDocument, now: number): Promise<boolean> {
    await apiKeys.deleteMany({ accountId });
    if (expiredAt === undefined || now - expiredAt.getTime() < SETTLED_AFTER_MS) return false;
    if (await broughtMoney(accountId)) {
      await unverifiedUsers.updateOne({ _id }, { $set: { kept: true }, $unset: { expiredAt: '' } });
      return false;
    }
    if (await calls.exists({ accountId, status: UNFINISHED })) return false;
    const left = await calls.find({ accountId, erasedAt: null }, { _id: 1 }).limit(AT_ONCE).lean<{ _id: string }[]>();
    for (const call of left) await deps.eraseCall({ callId: call._id });
    if (left.length === AT_ONCE) return false;
    for (const model of [agents, phoneNumbers, invitations]) await model.collection.deleteMany({ accountId });
    await accounts.deleteOne({ _id: accountId });
    return true;
  }

  async function remove(user: UserDocument, now: number): Promise<boolean> {
    const { _id, accountId } = user;
    await sessions.deleteMany({ userId: _id });
    const others =
      (await users.exists({ accountId })) ??
      (await unverifiedUsers.exists({ accountId, _id: { $ne: _id }, expiredAt: null }));
    if (others === null && !(await removeAccount(user, now))) return false;
    await auditEntries.updateMany({ actorId: _id }, { $set: { actorName: 'expired sign-up' } });
    await emailLinks.deleteMany({ subject: user.email, expiresAt: { $lte: new Date(now) } });
    await unverifiedUsers.deleteOne({ _id });
    return true;
  }

  return {
    /**
     * One run, bounded; what it leaves, the next goes on with.
     * @returns how many sign-ups were deleted
     */
    async run(now = Date.now()): Promise<number> {
      await expire(now);
      const expired = unverifiedUsers.find({ expiredAt: { $ne: null } }).sort({ expiredAt: 1 });
      let removed = 0;
      for (const user of await expired.limit(AT_ONCE).lean<UserDocument[]>())
        removed += Number(await remove(user, now));
      return removed;
    },
  };
}
