import { ulid } from 'ulid';
import type { Role } from '../../kernel/access.js';
import { ServiceError } from '../../kernel/errors.js';
import { checkedName } from '../accounts/accounts.js';
import { createKeyMakers } from '../api-keys/key-makers.js';
import type { ApiKeyDocument } from '../api-keys/model.js';
import type { IdentityDatabase } from '../database.js';
import { createInvitations, type Invitations, type NewInvitation } from './invitations.js';
import { collectionsOf, createPeople } from './people.js';
import type { InvitationDocument, UserDocument } from './model.js';

/** How long a verification may take from its first read to its last write. */
const VERIFYING_MS = 15_000;
/** Maximum per account, also in the list. */
const MOST_MEMBERS = 200;

export type Members = ReturnType<typeof createMembers>;

/**
 * People and their accounts; a person is a member of one account. Expected errors are ServiceErrors: CONFLICT if an
 * e-mail address is taken or the last owner would leave, NOT_FOUND for an unknown member.
 */
export function createMembers(database: IdentityDatabase) {
  const { users } = database;
  const invitations = createInvitations(database);
  const people = createPeople(database);
  const both = createBothCollections(database);
  const keyMakers = createKeyMakers(database);

  const collectionOf = collectionsOf(database);

  async function find(accountId: string, userId: string): Promise<UserDocument> {
    const user = await people.findById(userId);
    if (user?.accountId !== accountId) throw new ServiceError('NOT_FOUND', 'The account has no such member.');
    return user;
  }

  return {
    ...people,

    find,

    list: (accountId: string): Promise<UserDocument[]> => membersOf(database, accountId),

    /** @throws ServiceError NOT_FOUND, CONFLICT if no owner would remain */
    async setRole(accountId: string, userId: string, role: Role): Promise<UserDocument> {
      const before = await find(accountId, userId);
      await both.writeRole(accountId, userId, role);
      // Only a verified owner counts, because an unverified address may not be theirs. Checked after the write: if two
      // owners demote each other at once, at least one notices and restores the role.
      if (before.role === 'owner' && role !== 'owner' && !(await users.exists({ accountId, role: 'owner' }))) {
        await both.writeRole(accountId, userId, 'owner');
        throw new ServiceError('CONFLICT', 'An account must have an owner.');
      }
      return { ...before, role };
    },

    /**
     * Removes a member and revokes the API keys that they created.
     * @throws ServiceError NOT_FOUND, CONFLICT if no owner would remain, or the address is being verified
     */
    async remove(accountId: string, userId: string): Promise<{ user: UserDocument; revokedKeys: ApiKeyDocument[] }> {
      const member = await find(accountId, userId);
      if (member.role === 'owner') await this.setRole(accountId, userId, 'viewer');
      // Revoke first, so that an interrupted removal leaves no keys. A demoted owner can create no more.
      const revokedKeys = await keyMakers.revokeAll({ accountId, userId });
      await both.remove(member);
      // An older invitation would let them join again.
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
      await refuseUninvitable(database, p);
      return invitations.create(p);
    },

    /** Open invitations, newest first. */
    invitations: (accountId: string): Promise<InvitationDocument[]> => invitations.list(accountId),

    /**
     * @throws ServiceError NOT_FOUND if it is unknown, used, withdrawn or expired, or its inviter may no longer invite
     */
    openInvitation: (token: string): Promise<InvitationDocument> => invitations.find(token),

    /** Withdraws every invitation that a member created. */
    withdrawInvitationsBy: (userId: string): Promise<void> => invitations.withdrawBy(userId),

    /** @throws ServiceError NOT_FOUND */
    withdraw: (accountId: string, invitationId: string): Promise<InvitationDocument> =>
      invitations.withdraw(accountId, invitationId),

    /** Adds a member on an operator's authority. @throws ServiceError CONFLICT if the address belongs to a member */
    addMember: (
      p: Pick<UserDocument, 'accountId' | 'email' | 'role' | 'name' | 'passwordHash'>,
    ): Promise<UserDocument> =>
      people.add({ _id: `user_${ulid()}`, ...p, name: checkedName(p.name), createdAt: new Date() }),

    /**
     * Adds the invited person as a member. The invitation is used up only if that succeeds.
     * @param person.unverified the invitation did not prove the address, which may belong to someone else
     * @throws ServiceError NOT_FOUND if the invitation is not open, CONFLICT if the address belongs to a member
     */
    async accept(
      token: string,
      person: { name: string; passwordHash: string; unverified?: true },
    ): Promise<UserDocument> {
      const { accountId, email, role, invitationId } = await invitations.find(token);
      // The id is derived from the invitation, so that only one of several concurrent requests succeeds.
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
        // Check again: a concurrent withdrawal, or demotion of the inviter, wins.
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

/** Changes to a person during a concurrent verification, which moves the person from one collection to the other. */
function createBothCollections({ users, unverifiedUsers }: IdentityDatabase) {
  return {
    /** Writes in the order in which a verification moves a person, so that no write is missed. */
    async writeRole(accountId: string, userId: string, role: Role): Promise<void> {
      const change = { $set: { role } };
      for (const model of [unverifiedUsers, users]) await model.updateOne({ _id: userId, accountId }, change);
    },

    /** @throws ServiceError CONFLICT during a verification, after restoring the role */
    async remove({ _id, accountId, role }: UserDocument): Promise<void> {
      const before = new Date(Date.now() - VERIFYING_MS);
      const settled = { $or: [{ verifyingSince: null }, { verifyingSince: { $lte: before } }] };
      await unverifiedUsers.deleteOne({ _id, ...settled });
      if (await unverifiedUsers.exists({ _id })) {
        await this.writeRole(accountId, _id, role);
        throw new ServiceError('CONFLICT', 'This member is verifying the e-mail address. Try again in 15 seconds.');
      }
      await users.deleteOne({ _id });
    },
  };
}

/** @throws ServiceError CONFLICT if the address belongs to a member of the account, or the account is full */
async function refuseUninvitable(
  { users, unverifiedUsers }: IdentityDatabase,
  p: Pick<NewInvitation, 'accountId' | 'email'>,
): Promise<void> {
  const inAccount = { accountId: p.accountId };
  const known = { ...inAccount, email: p.email };
  if ((await users.exists(known)) || (await unverifiedUsers.exists({ ...known, expiredAt: null }))) {
    const fault = 'This e-mail address belongs to a member of your account already.';
    throw new ServiceError('CONFLICT', fault, { fields: { email: fault } });
  }
  const counts = await Promise.all([users.countDocuments(inAccount), unverifiedUsers.countDocuments(inAccount)]);
  if (counts[0] + counts[1] >= MOST_MEMBERS) {
    throw new ServiceError('CONFLICT', `An account has at most ${MOST_MEMBERS} members.`);
  }
}

/** Unverified members first, then verified ones, oldest first. */
async function membersOf({ users, unverifiedUsers }: IdentityDatabase, accountId: string): Promise<UserDocument[]> {
  const unverified = await unverifiedUsers.find({ accountId, expiredAt: null }).lean<UserDocument[]>();
  const verified = await users
    .find({ accountId })
    .sort({ createdAt: 1, _id: 1 })
    .limit(MOST_MEMBERS)
    .lean<UserDocument[]>();
  return [...unverified.filter(({ _id }) => !verified.some((user) => user._id === _id)), ...verified];
}
