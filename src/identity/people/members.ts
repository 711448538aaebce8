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

/** As long as a verification may still write what it has read. */
const VERIFYING_MS = 15_000;
/** Of an account; more are not listed either. */
const MOST_MEMBERS = 200;

export type Members = ReturnType<typeof createMembers>;

/**
 * People and the accounts they are members of. A person is a member of one account. Expected refusals are ServiceErrors:
 * CONFLICT where an e-mail address is taken or the last owner would go, NOT_FOUND for an unknown member.
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

    /** @throws ServiceError NOT_FOUND, CONFLICT when no owner would be left */
    async setRole(accountId: string, userId: string, role: Role): Promise<UserDocument> {
      const before = await find(accountId, userId);
      await both.writeRole(accountId, userId, role);
      // Only somebody verified counts: an account must not be left to an address that is not proved. Looked at afterwards: of two owners who take the role from each other at once, at least one sees it and goes back.
      if (before.role === 'owner' && role !== 'owner' && !(await users.exists({ accountId, role: 'owner' }))) {
        await both.writeRole(accountId, userId, 'owner');
        throw new ServiceError('CONFLICT', 'An account must have an owner.');
      }
      return { ...before, role };
    },

    /**
     * Removes a member and revokes the API keys that they made.
     * @throws ServiceError NOT_FOUND, CONFLICT when no owner would be left, or the address is being verified
     */
    async remove(accountId: string, userId: string): Promise<{ user: UserDocument; revokedKeys: ApiKeyDocument[] }> {
      const member = await find(accountId, userId);
      if (member.role === 'owner') await this.setRole(accountId, userId, 'viewer');
      // First, so that a removal that is cut short leaves no key without its maker. Owners make no more keys by then.
      const revokedKeys = await keyMakers.revokeAll({ accountId, userId });
      await both.remove(member);
      // An older invitation would let them in again.
      await invitations.withdrawAll(accountId, member.email);
      await invitations.withdrawBy(userId);
      return { user: member, revokedKeys };
    },

    /**
     * Creates an invitation; its token is in the answer and nowhere else. Members of other accounts can be invited, too: a
     * refusal would tell the inviter that they have an account.
     * @throws ServiceError CONFLICT when the address is of a member of this account, or the account is full
     */
    async invite(p: NewInvitation): Promise<{ token: string; invitation: InvitationDocument }> {
      await refuseUninvitable(database, p);
      return invitations.create(p);
    },

    /** Open ones, newest first. */
    invitations: (accountId: string): Promise<InvitationDocument[]> => invitations.list(accountId),

    /** @throws ServiceError NOT_FOUND when it is unknown, used, withdrawn or too old */
    openInvitation: (token: string): Promise<InvitationDocument> => invitations.find(token),

    /** Withdraws every invitation that a member made. */
    withdrawInvitationsBy: (userId: string): Promise<void> => invitations.withdrawBy(userId),

    /** @throws ServiceError NOT_FOUND */
    withdraw: (accountId: string, invitationId: string): Promise<InvitationDocument> =>
      invitations.withdraw(accountId, invitationId),

    /** A member whom an operator vouches for. @throws ServiceError CONFLICT when the address belongs to a member */
    addMember: (
      p: Pick<UserDocument, 'accountId' | 'email' | 'role' | 'name' | 'passwordHash'>,
    ): Promise<UserDocument> =>
      people.add({ _id: `user_${ulid()}`, ...p, name: checkedName(p.name), createdAt: new Date() }),

    /**
     * Makes the invited person a member. The invitation ends only when that succeeds.
     * @param person.unverified the invitation did not prove the address, which may then be anybody's
     * @throws ServiceError NOT_FOUND when the invitation is not open, CONFLICT when the address belongs to a member
     */
    async accept(
      token: string,
      person: { name: string; passwordHash: string; unverified?: true },
    ): Promise<UserDocument> {
      const { accountId, email, role, invitationId } = await invitations.find(token);
      // Of several that accept at once, the id lets one in.
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
        // Whoever withdrew it, or took the right to invite from its inviter, in the same moment wins.
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

/** @throws ServiceError CONFLICT when the address belongs to a member, NOT_FOUND when somebody else was faster */
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

/** Changes of somebody who may be moved from one collection to the other by a verification at the same time. */
function createBothCollections({ users, unverifiedUsers }: IdentityDatabase) {
  return {
    /** In the order in which a verification moves somebody, so that none is missed. */
    async writeRole(accountId: string, userId: string, role: Role): Promise<void> {
      const change = { $set: { role } };
      for (const model of [unverifiedUsers, users]) await model.updateOne({ _id: userId, accountId }, change);
    },

    /** @throws ServiceError CONFLICT, with the role as it was, while a verification goes on */
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

/** @throws ServiceError CONFLICT when the address is of a member of the account, or the account is full */
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

/** Oldest first. */
async function membersOf({ users, unverifiedUsers }: IdentityDatabase, accountId: string): Promise<UserDocument[]> {
  const unverified = await unverifiedUsers.find({ accountId, expiredAt: null }).lean<UserDocument[]>();
  const verified = await users
    .find({ accountId })
    .sort({ createdAt: 1, _id: 1 })
    .limit(MOST_MEMBERS)
    .lean<UserDocument[]>();
  return [...unverified.filter(({ _id }) => !verified.some((user) => user._id === _id)), ...verified];
}
