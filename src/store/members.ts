import { createHash, randomBytes } from 'node:crypto';
import { ulid } from 'ulid';
import type { Role } from '../domain/access.js';
import { ServiceError } from '../domain/errors.js';
import { createAccounts } from './accounts.js';
import { isDuplicateKey, type Database } from './database.js';
import type { InvitationDocument, UserDocument } from './models/user.js';

const INVITATION_MS = 7 * 24 * 3_600_000;
/** Of an account; more are not listed either. */
const MOST_MEMBERS = 200;

export type Members = ReturnType<typeof createMembers>;

/**
 * People and the accounts they are members of. A person is a member of one account. Expected refusals are ServiceErrors:
 * CONFLICT where an e-mail address is taken or the last owner would go, NOT_FOUND for an unknown member.
 */
export function createMembers(database: Database) {
  const { users, invitations } = database;
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
      return member;
    },

    /** An invitation; its token is in the answer and nowhere else. */
    async invite(p: {
      accountId: string;
      email: string;
      role: Role;
    }): Promise<{ token: string; invitation: InvitationDocument }> {
      if (await users.exists({ email: p.email })) {
        const fault = 'This e-mail address belongs to a member already.';
        throw new ServiceError('CONFLICT', fault, { fields: { email: fault } });
      }
      if ((await users.countDocuments({ accountId: p.accountId })) >= MOST_MEMBERS) {
        throw new ServiceError('CONFLICT', `An account has at most ${MOST_MEMBERS} members.`);
      }
      const token = randomBytes(32).toString('base64url');
      const createdAt = new Date();
      const invitation: InvitationDocument = {
        _id: hashOf(token),
        invitationId: `invite_${ulid()}`,
        ...p,
        createdAt,
        expiresAt: new Date(createdAt.getTime() + INVITATION_MS),
      };
      await invitations.create([invitation]);
      return { token, invitation };
    },

    /** Open ones, newest first. */
    async invitations(accountId: string): Promise<InvitationDocument[]> {
      const found = await invitations
        .find({ accountId })
        .sort({ createdAt: -1 })
        .limit(MOST_MEMBERS)
        .lean<InvitationDocument[]>();
      return found.filter((invitation) => invitation.expiresAt.getTime() > Date.now());
    },

    /** @throws ServiceError NOT_FOUND */
    async withdraw(accountId: string, invitationId: string): Promise<InvitationDocument> {
      const invitation = await invitations.findOneAndDelete({ accountId, invitationId }).lean<InvitationDocument>();
      if (!invitation) throw new ServiceError('NOT_FOUND', 'The account has no such open invitation.');
      return invitation;
    },

    /**
     * The invited person, as a member from now on. An invitation is good for one.
     * @throws ServiceError NOT_FOUND when it is unknown, used, withdrawn or too old, CONFLICT
     */
    async accept(token: string, person: { name: string; passwordHash: string }): Promise<UserDocument> {
      const invitation = await invitations.findOneAndDelete({ _id: hashOf(token) }).lean<InvitationDocument>();
      if (!invitation || invitation.expiresAt.getTime() <= Date.now()) {
        throw new ServiceError('NOT_FOUND', 'This invitation is not open any more.');
      }
      const { accountId, email, role } = invitation;
      return add({ _id: `user_${ulid()}`, email, accountId, role, createdAt: new Date(), ...person });
    },
  };
}

function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
