import { CALL_STATUSES, isFinalStatus } from '../../kernel/call-state.js';
import { ledgerAccountId } from '../../kernel/ids.js';
import type { AuditLog } from '../../identity/access/audit-log.js';
import type { AccountDocument } from '../../identity/accounts/model.js';
import type { UserDocument } from '../../identity/people/model.js';
import type { CallsDatabase } from '../database.js';
import { OPERATOR, type CallRemoval } from './remove-call.js';

const FINAL = { $in: CALL_STATUSES.filter(isFinalStatus) };
const UNFINISHED = { $in: CALL_STATUSES.filter((status) => !isFinalStatus(status)) };
const CALLS_AT_ONCE = 100;
const ERASED_NAME = 'erased account';

/** Data of an account. */
export interface AccountUse {
  /** Undefined if the account itself was erased before. */
  name?: string | undefined;
  /** Ended calls that are not erased. */
  calls: number;
  /** Whether there are calls that were erased. Workflows of them may be left. */
  hasErasedCalls: boolean;
  inProgress: string[];
  members: number;
  agents: number;
  phoneNumbers: number;
}

export interface AccountErasure extends AccountUse {
  workflowsDeleted: number;
  workflowsLeft: number;
}

export type AccountErasures = ReturnType<typeof createAccountErasures>;

/**
 * Erases accounts: their calls, agents, numbers, members and keys. The ledger stays, and so do the audit log and the
 * freezes and findings of operators, without names and reasons. An erasure may be interrupted, and repeated; the account itself is deleted last.
 */
export function createAccountErasures(deps: { database: CallsDatabase; removal: CallRemoval; auditLog: AuditLog }) {
  const { database, removal } = deps;
  const { accounts, apiKeys, agents, phoneNumbers, calls, auditEntries } = database;

  async function find(accountId: string): Promise<AccountUse> {
    const account = await accounts.findById(accountId, { name: 1 }).lean<Pick<AccountDocument, 'name'>>();
    const inProgress = await calls.find({ accountId, status: UNFINISHED }, { _id: 1 }).lean<{ _id: string }[]>();
    return {
      name: account?.name,
      calls: await calls.countDocuments({ accountId, status: FINAL, erasedAt: null }),
      hasErasedCalls: (await calls.exists({ accountId, erasedAt: { $ne: null } })) !== null,
      inProgress: inProgress.map(({ _id }) => _id),
      members: (await membersOf(database, accountId)).length,
      agents: await agents.countDocuments({ accountId }),
      phoneNumbers: await phoneNumbers.countDocuments({ accountId }),
    };
  }

  /** Erases the calls, and removes the workflows of those as well that were erased before: that erasure may have been interrupted. */
  async function eraseCalls(accountId: string): Promise<{ deleted: number; left: number }> {
    const sum = { deleted: 0, left: 0 };
    for (let last = ''; ;) {
      const page = await calls
        .find({ accountId, status: FINAL, _id: { $gt: last } }, { erasedAt: 1 })
        .sort({ _id: 1 })
        .limit(CALLS_AT_ONCE)
        .lean<{ _id: string; erasedAt?: Date }[]>();
      for (const { _id, erasedAt } of page) if (!erasedAt) await removal.erase(_id);
      const { deleted, left } = await removal.removeWorkflows(page.map(({ _id }) => _id));
      sum.deleted += deleted;
      sum.left += left;
      if (page.length < CALLS_AT_ONCE) return sum;
      last = page.at(-1)?._id ?? '';
    }
  }

  async function removeMembers(accountId: string): Promise<void> {
    const { sessions, emailLinks, users, unverifiedUsers } = database;
    for (const { _id, email } of await membersOf(database, accountId)) {
      await sessions.deleteMany({ userId: _id });
      await emailLinks.deleteMany({ subject: { $in: [_id, email] } });
      await users.deleteOne({ _id });
      await unverifiedUsers.deleteOne({ _id });
    }
  }

  /** Removes invitations, members and keys. Sessions end before keys are deleted, because a member can make a key. */
  async function removeAccess(accountId: string): Promise<void> {
    await database.invitations.collection.deleteMany({ accountId });
    await removeMembers(accountId);
    await database.credentials.change(() => apiKeys.deleteMany({ accountId }).exec());
  }

  /** Removes what operators wrote about freezes and findings. */
  async function clearReasons(accountId: string): Promise<void> {
    const ofAccount = {
      ledgerAccountId: { $in: [ledgerAccountId(accountId, 'live'), ledgerAccountId(accountId, 'test')] },
    };
    await database.accountFreezes.updateMany(ofAccount, { $set: { reason: ERASED_NAME } });
    const findings = { ...ofAccount, reason: { $exists: true } };
    await database.reconciliationFindings.updateMany(findings, { $set: { reason: ERASED_NAME } });
  }

  /** Removes names, e-mail addresses and phone numbers from the audit log. */
  async function clearAuditLog(accountId: string): Promise<void> {
    const named = { accountId, actorKind: { $ne: OPERATOR.actorKind }, actorName: { $ne: ERASED_NAME } };
    await auditEntries.updateMany(named, { $set: { actorName: ERASED_NAME } });
    await auditEntries.updateMany({ accountId, target: { $regex: String.raw`^(%2B|\+)` } }, { $unset: { target: '' } });
  }

  return {
    /** Finds what an account has. Changes nothing. */
    find,

    /** Erases an account. Does not delete the account itself while it has calls in progress. */
    async erase(accountId: string): Promise<AccountErasure> {
      const use = await find(accountId);
      if (use.name !== undefined) {
        await deps.auditLog.add({ ...OPERATOR, accountId, action: 'eraseAccount', target: accountId });
      }
      await removeAccess(accountId);
      for (const model of [phoneNumbers, agents]) await model.collection.deleteMany({ accountId });
      const { deleted, left } = await eraseCalls(accountId);
      await clearReasons(accountId);
      await clearAuditLog(accountId);
      // Again, for what requests made that were in progress when the members and keys were removed.
      await removeAccess(accountId);
      for (const model of [phoneNumbers, agents]) await model.collection.deleteMany({ accountId });
      const remaining = await find(accountId);
      if (remaining.inProgress.length === 0 && remaining.calls === 0) {
        await database.credentials.change(() => accounts.deleteOne({ _id: accountId }).exec());
      }
      return { ...use, inProgress: remaining.inProgress, workflowsDeleted: deleted, workflowsLeft: left };
    },
  };
}

async function membersOf({ users, unverifiedUsers }: CallsDatabase, accountId: string) {
  type Member = Pick<UserDocument, '_id' | 'email'>;
  const members = await users.find({ accountId }, { email: 1 }).lean<Member[]>();
  return [...members, ...(await unverifiedUsers.find({ accountId }, { email: 1 }).lean<Member[]>())];
}
