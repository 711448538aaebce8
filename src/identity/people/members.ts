import { ulid } from 'ulid';
import type { Role } from '../../kernel/access.js';
import { limitReached } from '../../kernel/common-errors.js';
import { ServiceError } from '../../kernel/errors.js';
import { checkedName } from '../accounts/accounts.js';
import { ignoreWrites, type OnWrite } from '../../platform/mongo/writes.js';
import { createKeyCreators } from '../api-keys/key-creators.js';
import type { ApiKeyDocument } from '../api-keys/model.js';
import type { IdentityDatabase } from '../database.js';
import { createInvitations, type Invitations, type NewInvitation } from './invitations.js';
import { collectionsOf, createPeople } from './people.js';
import type { InvitationDocument, UserDocument } from './model.js';

/** Maximum time from the first read to the last write of a verification. */
const VERIFYING_MS = 15_000;
/** Maximum members per account. */
const MAX_MEMBERS = 200;

export type Members = ReturnType<typeof createMembers>;

const LAST_OWNER = 'An account must have at least one owner. Make another member an owner first.';

/**
 * Manages people and their accounts. A person is a member of one account. Expected errors are ServiceErrors: CONFLICT
 * if an e-mail address is taken or the last owner would leave, NOT_FOUND for an unknown member.
 */
export function createMembers(database: IdentityDatabase) {
  const { users } = database;
  const invitations = createInvitations(database);
  const people = createPeople(database);
  const both = createBothCollections(database);
  const keyCreators = createKeyCreators(database);

  const collectionOf = collectionsOf(database);

  async function find(accountId: string, userId: string): Promise<UserDocument> {
    const user = await people.findById(userId);
    if (user?.accountId !== accountId) throw new ServiceError('NOT_FOUND', 'There is no member with this user_id.');
    return user;
  }

  const setRole = createRoleChange(find, both, users);

  return {
    ...people,

    find,
    restoreRole: both.restoreRole.bind(both),

    list: (accountId: string): Promise<UserDocument[]> => membersOf(database, accountId),

    setRole,

    /**
     * Removes a member and revokes the API keys that they created.
     * @throws ServiceError NOT_FOUND, CONFLICT if no owner would remain, or the address is being verified
     */
    async remove(accountId: string, userId: string): Promise<{ user: UserDocument; revokedKeys: ApiKeyDocument[] }> {
      const member = await find(accountId, userId);
      await both.assertSettled(member);
      if (member.role === 'owner') await setRole(accountId, userId, 'viewer');
      // Revoke the keys first, so that an interrupted removal leaves no keys. The member can create no new ones: only
      // owners can, and an owner has just become a viewer.
      const revokedKeys = await keyCreators.revokeAll({ accountId, userId });
      await both.remove(member);
      // With an older invitation, the removed member could join again.
      await invitations.withdrawAll(accountId, member.email);
      await invitations.withdrawBy(userId);
      return { user: member, revokedKeys };
    },

    /**
     * Creates an invitation. Its token is returned here and stored nowhere. Members of other accounts can be invited,
     * too, because a rejection would reveal that they have an account.
     * @throws ServiceError CONFLICT if the address belongs to a member of this account, or the account is full
     */
    async invite(p: NewInvitation): Promise<{ token: string; invitation: InvitationDocument }> {
      await assertInvitable(database, p);
      return invitations.create(p);
    },

    /** Lists the open invitations of an account, newest first. */
    invitations: (accountId: string): Promise<InvitationDocument[]> => invitations.list(accountId),

    /** Finds an invitation. @throws ServiceError NOT_FOUND if it is not open, or its inviter may no longer invite */
    openInvitation: (token: string): Promise<InvitationDocument> => invitations.find(token),

    /** Withdraws every invitation that a member created. */
    withdrawInvitationsBy: (userId: string): Promise<void> => invitations.withdrawBy(userId),

    /** @throws ServiceError NOT_FOUND */
    withdraw: (accountId: string, invitationId: string): Promise<InvitationDocument> =>
      invitations.withdraw(accountId, invitationId),

    /** Adds a member on behalf of an operator. @throws ServiceError CONFLICT if the address belongs to a member */
    addMember: (
      p: Pick<UserDocument, 'accountId' | 'email' | 'role' | 'name' | 'passwordHash'>,
    ): Promise<UserDocument> =>
      people.add({ _id: `user_${ulid()}`, ...p, name: checkedName(p.name), createdAt: new Date() }),

    /**
     * Adds the invited person as a member. If this fails, the invitation stays valid.
     * @param person.unverified the invitation did not prove the address, which may belong to someone else
     * @throws ServiceError NOT_FOUND if the invitation is not open, CONFLICT if the address belongs to a member
     */
    async accept(
      token: string,
      person: { name: string; passwordHash: string; unverified?: true },
    ): Promise<UserDocument> {
      const { accountId, email, role, invitationId } = await invitations.find(token);
      // The person's id is derived from the invitation, so that only one of several concurrent requests succeeds.
      const user = await addInvited(
        { people, invitations },
        {
          _id: invitationId.replace('invite', 'user'),
          invited: true,
          email,
          accountId,
          role,
          createdAt: new Date(),
          ...person,
        },
      );
      try {
        // Check again, because the invitation may have been withdrawn, or its inviter demoted, meanwhile.
        await invitations.find(token);
      } catch (error) {
        await collectionOf(user).deleteOne({ _id: user._id });
        throw error;
      }
      await invitations.withdrawAll(accountId, email);
      return user;
    },
  };
}

/**
 * Stores the invited person.
 * @throws ServiceError CONFLICT if the address belongs to a member, NOT_FOUND if a concurrent request accepted first
 */
async function addInvited(
  { people, invitations }: { people: ReturnType<typeof createPeople>; invitations: Invitations },
  user: UserDocument,
): Promise<UserDocument> {
  try {
    return await people.add(user);
  } catch (error) {
    if (await people.findById(user._id)) throw invitations.notOpen();
    throw error;
  }
}

/** Changes a person while a concurrent verification may move the person to the collection of verified people. */
function createBothCollections({ users, unverifiedUsers }: IdentityDatabase) {
  return {
    /**
     * Writes the role to the collection of unverified people and then to that of verified people. A verification moves
     * people in this direction, so the write cannot miss the person.
     */
    async writeRole(accountId: string, userId: string, role: Role, only: { role?: Role } = {}): Promise<void> {
      const change = { $set: { role } };
      for (const model of [unverifiedUsers, users]) await model.updateOne({ _id: userId, accountId, ...only }, change);
    },

    /** Restores a role that a change has replaced, unless somebody has changed it again meanwhile. */
    restoreRole(accountId: string, userId: string, p: { changed: Role; before: Role }): Promise<void> {
      return this.writeRole(accountId, userId, p.before, { role: p.changed });
    },

    /** @throws ServiceError CONFLICT if the person is being verified */
    async assertSettled({ _id }: UserDocument): Promise<void> {
      const since = new Date(Date.now() - VERIFYING_MS);
      if (await unverifiedUsers.exists({ _id, verifyingSince: { $gt: since } })) throw beingVerified();
    },

    /** @throws ServiceError CONFLICT if the person is being verified; the role is restored first */
    async remove({ _id, accountId, role }: UserDocument): Promise<void> {
      const before = new Date(Date.now() - VERIFYING_MS);
      const settled = { $or: [{ verifyingSince: null }, { verifyingSince: { $lte: before } }] };
      await unverifiedUsers.deleteOne({ _id, ...settled });
      if (await unverifiedUsers.exists({ _id })) {
        await this.writeRole(accountId, _id, role);
        throw beingVerified();
      }
      await users.deleteOne({ _id });
    },
  };
}

function beingVerified(): ServiceError {
  return new ServiceError('CONFLICT', 'This member is verifying their e-mail address. Retry in 15 seconds.');
}

/** @throws ServiceError CONFLICT if the address belongs to a member of the account, or the account is full */
async function assertInvitable(
  { users, unverifiedUsers }: IdentityDatabase,
  p: Pick<NewInvitation, 'accountId' | 'email'>,
): Promise<void> {
  const inAccount = { accountId: p.accountId };
  const known = { ...inAccount, email: p.email };
  if ((await users.exists(known)) || (await unverifiedUsers.exists({ ...known, expiredAt: null }))) {
    const fault = 'This e-mail address already belongs to a member of your account.';
    throw new ServiceError('CONFLICT', fault, { fields: { email: fault } });
  }
  const counts = await Promise.all([users.countDocuments(inAccount), unverifiedUsers.countDocuments(inAccount)]);
  if (counts[0] + counts[1] >= MAX_MEMBERS) {
    throw new ServiceError(
      'CONFLICT',
      limitReached({ of: 'An account', most: MAX_MEMBERS, items: 'members', remedy: 'Remove a member first.' }),
    );
  }
}

/** Lists unverified members first, then verified ones, oldest first. */
async function membersOf({ users, unverifiedUsers }: IdentityDatabase, accountId: string): Promise<UserDocument[]> {
  const unverified = await unverifiedUsers.find({ accountId, expiredAt: null }).lean<UserDocument[]>();
  const verified = await users
    .find({ accountId })
    .sort({ createdAt: 1, _id: 1 })
    .limit(MAX_MEMBERS)
    .lean<UserDocument[]>();
  return [...unverified.filter(({ _id }) => !verified.some((user) => user._id === _id)), ...verified];
}

function createRoleChange(
  find: (accountId: string, userId: string) => Promise<UserDocument>,
  both: Pick<ReturnType<typeof createBothCollections>, 'writeRole'>,
  users: IdentityDatabase['users'],
) {
  /**
   * @param onWrite called unless the member has this role already
   * @throws ServiceError NOT_FOUND, CONFLICT if no owner would remain
   */
  return async (
    accountId: string,
    userId: string,
    role: Role,
    onWrite: OnWrite = ignoreWrites,
  ): Promise<UserDocument> => {
    const before = await find(accountId, userId);
    if (before.role === role) return before;
    await both.writeRole(accountId, userId, role);
    // Only a verified owner counts, because an unverified address may belong to someone else. Check after the write:
    // if two owners demote each other at once, at least one request notices and restores the role.
    if (before.role === 'owner' && !(await users.exists({ accountId, role: 'owner' }))) {
      await both.writeRole(accountId, userId, 'owner');
      throw new ServiceError('CONFLICT', LAST_OWNER);
    }
    onWrite();
    return { ...before, role };
  };
}
