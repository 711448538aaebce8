import { CALL_STATUSES, isFinalStatus } from '../../kernel/call-state.js';
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
 * Erases accounts: their calls, agents, numbers, members and keys. The ledger stays, and so does the audit log, without
 * names. An erasure may be interrupted, and repeated; the account itself is deleted last.
 */
export function createAccountErasures(deps: { database: CallsDatabase; removal: CallRemoval; auditLog: AuditLog }) {
  const { database, removal } = deps;
  const { accounts, apiKeys, agents, phoneNumbers, invitations, calls, auditEntries } = database;

  async function find(accountId: string): Promise<AccountUse> {
    const account = await accounts.findById(accountId, { name: 1 }).lean<Pick<AccountDocument, 'name'>>();
    const inProgress = await calls.find({ accountId, status: UNFINISHED }, { _id: 1 }).lean<{ _id: string }[]>();
    return {
      name: account?.name,
      calls: await calls.countDocuments({ accountId, status: FINAL, erasedAt: null }),
      inProgress: inProgress.map(({ _id }) => _id),
      members: (await membersOf(database, accountId)).length,
      agents: await agents.countDocuments({ accountId }),
      phoneNumbers: await phoneNumbers.countDocuments({ accountId }),
    };
  }

  async function eraseCalls(accountId: string): Promise<{ deleted: number; left: number }> {
    const sum = { deleted: 0, left: 0 };
    for (;;) {
      const page = await calls
        .find({ accountId, status: FINAL, erasedAt: null }, { _id: 1 })
        .limit(CALLS_AT_ONCE)
        .lean<{ _id: string }[]>();
      const callIds = page.map(({ _id }) => _id);
      for (const callId of callIds) await removal.erase(callId);
      const { deleted, left } = await removal.removeWorkflows(callIds);
      sum.deleted += deleted;
      sum.left += left;
      if (page.length < CALLS_AT_ONCE) return sum;
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
      // First what starts calls.
      await database.credentials.change(() => apiKeys.deleteMany({ accountId }).exec());
      await removeMembers(accountId);
      for (const model of [phoneNumbers, invitations, agents]) await model.collection.deleteMany({ accountId });
      const { deleted, left } = await eraseCalls(accountId);
      await clearAuditLog(accountId);
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
