import { isFinalStatus, CALL_STATUSES } from '../kernel/call-state.js';
import { ledgerAccountId } from '../kernel/ids.js';
import type { CallsDatabase } from './database.js';
import type { UserDocument } from '../identity/people/model.js';
import type { Logger } from '../platform/telemetry/logger.js';
import { tryEach } from '../platform/try-each.js';

const DAY_MS = 24 * 3_600_000;
const LIFETIME_MS = 7 * DAY_MS;
/** A verification that started longer ago does not prevent the deletion of a sign-up: its link has long expired. */
const VERIFICATION_MS = DAY_MS;
/** After this time, requests that were in progress when the API keys were deleted have finished. */
const SETTLED_AFTER_MS = 3_600_000;
const BATCH_SIZE = 100;
const AUDIT_ENTRIES_PER_BATCH = 1_000;
/** Time limit of one run. Sign-ups that are left are deleted by the next run. */
const RUN_BUDGET_MS = 15_000;
const ERASED_ACTOR_NAME = 'expired sign-up';

const UNFINISHED = { $in: CALL_STATUSES.filter((status) => !isFinalStatus(status)) };

/**
 * Deletes sign-ups whose email address was not verified within 7 days. A sign-up is first marked as expired, so that it
 * cannot be verified any more, and then deleted. The user is deleted last, so that the next run can complete an
 * interrupted one. The ledger stays, and so does the audit log, without the address. A sign-up whose account has live
 * credit is kept. If the account has other members, only the user is deleted.
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
    sessions,
    auditEntries,
    emailLinks,
    agents,
    phoneNumbers,
    invitations,
    calls,
    ledgerAccounts,
  } = deps.database;

  const hasLiveCredit = (accountId: string) =>
    ledgerAccounts.exists({ _id: ledgerAccountId(accountId, 'live'), creditedMicros: { $gt: 0 } });

  async function expire(now: number, until: number): Promise<void> {
    const due = {
      createdAt: { $lte: new Date(now - LIFETIME_MS) },
      invited: null,
      kept: null,
      expiredAt: null,
      $or: [{ verifyingSince: null }, { verifyingSince: { $lte: new Date(now - VERIFICATION_MS) } }],
    };
    await tryEach(await unverifiedUsers.find(due).limit(BATCH_SIZE).lean<UserDocument[]>(), {
      until,
      failed: logFailure,
      async work({ _id, accountId }) {
        const change = (await hasLiveCredit(accountId)) ? { kept: true } : { expiredAt: new Date(now) };
        // The filter does not match if the user has started a verification meanwhile.
        await unverifiedUsers.updateOne({ ...due, _id }, { $set: change });
      },
    });
  }

  function logFailure(err: unknown, { _id: userId }: UserDocument): void {
    deps.logger.error({ err, userId }, 'sign-up could not be expired');
  }

  /** @returns whether the account and all its data are deleted */
  async function removeAccount({ _id, accountId, expiredAt }: UserDocument, { now, until }: Run): Promise<boolean> {
    await removeKeys(deps.database, accountId);
    if (expiredAt === undefined || now - expiredAt.getTime() < SETTLED_AFTER_MS) return false;
    if (await hasLiveCredit(accountId)) {
      await unverifiedUsers.updateOne({ _id }, { $set: { kept: true }, $unset: { expiredAt: '' } });
      return false;
    }
    if (await calls.exists({ accountId, status: UNFINISHED })) return false;
    const unerased = await calls
      .find({ accountId, erasedAt: null }, { _id: 1 })
      .limit(BATCH_SIZE)
      .lean<{ _id: string }[]>();
    for (const call of unerased) {
      if (Date.now() >= until) return false;
      await deps.eraseCall({ callId: call._id });
    }
    if (unerased.length === BATCH_SIZE) return false;
    for (const model of [agents, phoneNumbers, invitations]) await model.collection.deleteMany({ accountId });
    await deps.database.credentials.change(() => accounts.deleteOne({ _id: accountId }).exec());
    return true;
  }

  /** @returns whether the audit log no longer contains the address */
  async function eraseActorName(actorId: string, until: number): Promise<boolean> {
    const named = { actorId, actorName: { $ne: ERASED_ACTOR_NAME } };
    while (Date.now() < until) {
      const rows = await auditEntries.find(named, { _id: 1 }).limit(AUDIT_ENTRIES_PER_BATCH).lean<{ _id: string }[]>();
      const ids = rows.map(({ _id }) => _id);
      await auditEntries.updateMany({ _id: { $in: ids } }, { $set: { actorName: ERASED_ACTOR_NAME } });
      if (ids.length < AUDIT_ENTRIES_PER_BATCH) return true;
    }
    return false;
  }

  async function remove(user: UserDocument, run: Run): Promise<boolean> {
    const { _id, accountId } = user;
    const { now, until } = run;
    // Puts this user last in the next run, so that users that cannot be deleted do not delay the others.
    await unverifiedUsers.updateOne({ _id }, { $set: { removalTriedAt: new Date(now) } });
    await sessions.deleteMany({ userId: _id });
    const others =
      (await users.exists({ accountId })) ??
      (await unverifiedUsers.exists({ accountId, _id: { $ne: _id }, expiredAt: null }));
    if (others === null && !(await removeAccount(user, run))) return false;
    if (!(await eraseActorName(_id, until))) return false;
    await emailLinks.deleteMany({ subject: user.email, expiresAt: { $lte: new Date(now) } });
    await unverifiedUsers.deleteOne({ _id });
    return true;
  }

  return {
    /**
     * Deletes sign-ups for a limited time; the next run continues. Logs failures and retries them after the others.
     * @returns number of deleted sign-ups
     */
    async run(now = Date.now()): Promise<number> {
      const until = Date.now() + RUN_BUDGET_MS;
      await expire(now, until);
      const expired = await unverifiedUsers
        // A range, so that the index is used: most sign-ups have not expired.
        .find({ expiredAt: { $gt: new Date(0) } })
        .sort({ removalTriedAt: 1, expiredAt: 1 })
        .limit(BATCH_SIZE)
        .lean<UserDocument[]>();
      const removed = await tryEach(expired, {
        until,
        failed: logFailure,
        work: (user) => remove(user, { now, until }),
      });
      return removed.filter(Boolean).length;
    },
  };
}

/** One run: its reference time `now` and its deadline `until`, in ms since the epoch. */
interface Run {
  now: number;
  until: number;
}

/** Removes the API keys of an account. Later runs, which find none, change nothing. */
async function removeKeys({ apiKeys, credentials }: CallsDatabase, accountId: string): Promise<void> {
  if (!(await apiKeys.exists({ accountId }))) return;
  await credentials.change(() => apiKeys.deleteMany({ accountId }).exec());
}
