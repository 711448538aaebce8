import { ulid } from 'ulid';
import { ServiceError } from '../../kernel/errors.js';
import { createAccounts } from '../accounts/accounts.js';
import { isDuplicateKey } from '../../platform/mongo/connection.js';
import type { IdentityDatabase } from '../database.js';
import type { UserDocument } from './model.js';

/** Returns the collections of verified and of unverified people. */
export function collectionsOf({ users, unverifiedUsers }: IdentityDatabase) {
  return (user: Pick<UserDocument, 'unverified'>) => (user.unverified ? unverifiedUsers : users);
}

/**
 * Manages people by e-mail address. An address belongs to the person who verified it. Before that, any number of people
 * may sign up with it, so that a sign-up does not reveal whether an address is taken.
 */
export function createPeople(database: IdentityDatabase) {
  const { users, unverifiedUsers } = database;
  const accounts = createAccounts(database);

  /** Filter that excludes expired sign-ups. */
  const inForce = (filter: object) => ({ ...filter, expiredAt: null });

  const collectionOf = collectionsOf(database);

  /** @throws ServiceError CONFLICT if the address belongs to someone else */
  async function add(user: UserDocument): Promise<UserDocument> {
    try {
      await collectionOf(user).create([user]);
      return user;
    } catch (error) {
      if (isDuplicateKey(error)) throw addressTaken();
      throw error;
    }
  }

  /**
   * Creates the account of a person if a sign-up was interrupted. A sign-up stores the person before the account, so
   * that two people cannot take the same address.
   */
  async function withAccount(user: UserDocument): Promise<UserDocument> {
    const { openingAccount, ...opened } = user;
    if (openingAccount === undefined) return user;
    const unverified = user.unverified ? { unverified: true as const } : {};
    await accounts.create({ accountId: user.accountId, name: openingAccount, ...unverified });
    await collectionOf(user).updateOne({ _id: user._id }, { $unset: { openingAccount: '' } });
    return opened;
  }

  /** Completes a verification that was interrupted. Safe to repeat. */
  async function settle(user: UserDocument): Promise<void> {
    if (!user.invited) await accounts.verify(user.accountId);
    await unverifiedUsers.deleteOne({ _id: user._id });
    await users.updateOne({ _id: user._id }, { $unset: { verifying: '' } });
  }

  /** Assigns the address to a person unless someone else has verified it. @throws ServiceError CONFLICT */
  async function claim(user: UserDocument): Promise<void> {
    const { unverified: _verified, verifyingSince: _begun, ...person } = user;
    try {
      if (await users.exists({ email: person.email, _id: { $ne: person._id } })) throw addressTaken();
      await add({ ...person, verifying: true });
      // The role may have changed since it was read.
      const now = await unverifiedUsers.findOne({ _id: person._id }).lean<UserDocument>();
      if (now && now.role !== person.role) await users.updateOne({ _id: person._id }, { $set: { role: now.role } });
    } catch (error) {
      // The address belongs to someone else, unless a concurrent request has verified this person.
      if (await users.exists({ _id: person._id })) return;
      await unverifiedUsers.updateOne({ _id: person._id }, { $unset: { verifyingSince: '' } });
      throw error;
    }
  }

  return {
    ...createPasswordChanges(database),

    add,

    /**
     * Creates a person with a new account that they own.
     * @throws ServiceError CONFLICT if the person is not `unverified` and the address belongs to someone else
     */
    async signUp(p: {
      email: string;
      name: string;
      passwordHash: string;
      accountName: string;
      accountId?: string;
      unverified?: true;
    }): Promise<UserDocument> {
      const { accountName, accountId = `acct_${ulid()}`, ...person } = p;
      const _id = `user_${ulid()}`;
      const opening = { openingAccount: accountName, role: 'owner' as const, createdAt: new Date() };
      return withAccount(await add({ _id, ...person, accountId, ...opening }));
    },

    /** Finds the person who verified the address. */
    async findByEmail(email: string): Promise<UserDocument | null> {
      const user = await users.findOne({ email }).lean<UserDocument>();
      if (user?.verifying) await settle(user);
      return user && withAccount(user);
    },

    /** Finds the latest unverified sign-up with this address and password. */
    async findUnverified(email: string, passwordHash: string): Promise<UserDocument | null> {
      const found = unverifiedUsers.findOne(inForce({ email, passwordHash })).sort({ createdAt: -1 });
      const user = await found.lean<UserDocument>();
      return user && withAccount(user);
    },

    /** Counts the unverified sign-ups with the address. */
    countUnverified: (email: string): Promise<number> => unverifiedUsers.countDocuments(inForce({ email })).exec(),

    async findById(userId: string): Promise<UserDocument | null> {
      return (
        (await users.findOne({ _id: userId }).lean<UserDocument>()) ??
        (await unverifiedUsers.findOne(inForce({ _id: userId })).lean<UserDocument>())
      );
    },

    /**
     * Assigns the address to the person and gives their account its full limits. Safe to repeat after a crash at any
     * point.
     * @throws ServiceError CONFLICT if someone else verified the address before, NOT_FOUND if the sign-up expired
     */
    async verify({ _id }: Pick<UserDocument, '_id'>): Promise<void> {
      const begun = await unverifiedUsers
        .findOneAndUpdate(inForce({ _id }), { $set: { verifyingSince: new Date() } }, { returnDocument: 'after' })
        .lean<UserDocument>();
      if (begun) await claim(await withAccount(begun));
      const user = await users.findOne({ _id }).lean<UserDocument>();
      if (!user) throw new ServiceError('NOT_FOUND', 'This sign-up has expired. Sign up again.');
      if (user.verifying || begun) await settle(user);
    },
  };
}

function createPasswordChanges(database: IdentityDatabase) {
  const collectionOf = collectionsOf(database);
  return {
    /**
     * Replaces a password if the stored hash is still that of the given user. This also ends every session of the person,
     * because sessions are bound to the password.
     * @returns false, without a change, if the password has changed meanwhile
     */
    async replacePassword(
      user: Pick<UserDocument, '_id' | 'unverified' | 'passwordHash'>,
      passwordHash: string,
    ): Promise<boolean> {
      const unchanged = { _id: user._id, passwordHash: user.passwordHash };
      return (await collectionOf(user).updateOne(unchanged, { $set: { passwordHash } })).matchedCount === 1;
    },
  };
}

function addressTaken(): ServiceError {
  const fault = 'This e-mail address already belongs to a member. Log in with it, or use another address.';
  return new ServiceError('CONFLICT', fault, { fields: { email: fault } });
}
