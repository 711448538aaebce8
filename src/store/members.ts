import { ulid } from 'ulid';
import type { Role } from '../domain/access.js';
import { ServiceError } from '../domain/errors.js';
import { createAccounts } from './accounts.js';
import { isDuplicateKey, type Database } from './database.js';
import { createInvitations } from './invitations.js';
import type { InvitationDocument, UserDocument } from './models/user.js';

/** Of an account; more are not listed either. */
const MOST_MEMBERS = 200;

export type Members = ReturnType<typeof createMembers>;

/**
 * People and the accounts they are members of. A person is a member of one account. Expected refusals are ServiceErrors:
 * CONFLICT where an e-mail address is taken or the last owner would go, NOT_FOUND for an unknown member.
 */
export function createMembers(database: Database) {
  const { users } = database;
  const invitations = createInvitations(database);
  const accounts = createAccounts(database);

  async function add(user: UserDocument): Promise<UserDocument> {
    try {
      await users.create([user]);
      return user;
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
      const fault = 'This e-mail address belongs to a member already.';
      throw new ServiceError('CONFLICT', fault, { fields: { email: fault } });
    }
  }

  /** Brings an account into being whose opening was cut short: the person is written first, so that no two take an address. */
  async function withAccount(user: UserDocument): Promise<UserDocument> {
    const { openingAccount, ...opened } = user;
    if (openingAccount === undefined) return user;
    await accounts.create({ accountId: user.accountId, name: openingAccount });
    await users.updateOne({ _id: user._id }, { $unset: { openingAccount: '' } });
    return opened;
  }

  async function find(accountId: string, userId: string): Promise<UserDocument> {
    const user = await users.findOne({ _id: userId, accountId }).lean<UserDocument>();
    if (!user) throw new ServiceError('NOT_FOUND', 'The account has no such member.');
    return user;
  }

  return {
    /** A new person with a new account, whose owner they are. */
    async signUp(p: {
      email: string;
      name: string;
      passwordHash: string;
      accountName: string;
      accountId?: string;
    }): Promise<UserDocument> {
      const { accountName, accountId = `acct_${ulid()}`, ...person } = p;
      const _id = `user_${ulid()}`;
      const opening = { openingAccount: accountName, role: 'owner' as const, createdAt: new Date() };
      return withAccount(await add({ _id, ...person, accountId, ...opening }));
    },

    async findByEmail(email: string): Promise<UserDocument | null> {
      const user = await users.findOne({ email }).lean<UserDocument>();
      return user && withAccount(user);
    },

    find,

    /** Oldest first. */
    list(accountId: string): Promise<UserDocument[]> {
      return users.find({ accountId }).sort({ createdAt: 1, _id: 1 }).limit(MOST_MEMBERS).lean<UserDocument[]>().exec();
    },

    async setPassword(userId: string, passwordHash: string): Promise<void> {
      await users.updateOne({ _id: userId }, { $set: { passwordHash } });
    },

    /** @throws ServiceError NOT_FOUND, CONFLICT when no owner would be left */
    async setRole(accountId: string, userId: string, role: Role): Promise<UserDocument> {
      const before = await find(accountId, userId);
      await users.updateOne({ _id: userId, accountId }, { $set: { role } });
      // Looked at afterwards: of two owners who take the role from each other at once, at least one sees it and goes back.
      if (before.role === 'owner' && role !== 'owner' && !(await users.exists({ accountId, role: 'owner' }))) {
        await users.updateOne({ _id: userId, accountId }, { $set: { role: 'owner' } });
        throw new ServiceError('CONFLICT', 'An account must have an owner.');
      }
      return { ...before, role };
    },

    /** @throws ServiceError NOT_FOUND, CONFLICT when no owner would be left */
    async remove(accountId: string, userId: string): Promise<UserDocument> {
      const member = await find(accountId, userId);
      if (member.role === 'owner') await this.setRole(accountId, userId, 'viewer');
      await users.deleteOne({ _id: userId, accountId });
      // An older invitation would let them in again.
      await invitations.withdrawAll(accountId, member.email);
      return member;
    },

    /**
     * Creates an invitation; its token is in the answer and nowhere else. An address of another account's member is
     * invited as any other, so that nobody learns who has an account.
     * @throws ServiceError CONFLICT when the address is of a member of this account, or the account is full
     */
    async invite(p: {
      accountId: string;
      email: string;
      role: Role;
    }): Promise<{ token: string; invitation: InvitationDocument }> {
      if (await users.exists({ email: p.email, accountId: p.accountId })) {
        const fault = 'This e-mail address belongs to a member of your account already.';
        throw new ServiceError('CONFLICT', fault, { fields: { email: fault } });
      }
      if ((await users.countDocuments({ accountId: p.accountId })) >= MOST_MEMBERS) {
        throw new ServiceError('CONFLICT', `An account has at most ${MOST_MEMBERS} members.`);
      }
      return invitations.create(p);
    },

    /** Open ones, newest first. */
    invitations: (accountId: string): Promise<InvitationDocument[]> => invitations.list(accountId),

    /** @throws ServiceError NOT_FOUND when it is unknown, used, withdrawn or too old */
    openInvitation: (token: string): Promise<InvitationDocument> => invitations.find(token),

    /** @throws ServiceError NOT_FOUND */
    withdraw: (accountId: string, invitationId: string): Promise<InvitationDocument> =>
      invitations.withdraw(accountId, invitationId),

    /**
     * Makes the invited person a member. The invitation ends only when that succeeds.
     * @throws ServiceError NOT_FOUND when the invitation is not open, CONFLICT when the address belongs to a member
     */
    async accept(token: string, person: { name: string; passwordHash: string }): Promise<UserDocument> {
      const { accountId, email, role } = await invitations.find(token);
      // Of several that accept at once, the unique address lets one in.
      const user = await add({ _id: `user_${ulid()}`, email, accountId, role, createdAt: new Date(), ...person });
      await invitations.withdrawAll(accountId, email);
      return user;
    },
  };
}
