import { memberNotFound } from '../../kernel/common-errors.js';
import { ServiceError } from '../../kernel/errors.js';
import type { IdentityDatabase } from '../database.js';
import { normalEmail } from './email-contract.js';
import type { UserDocument } from './model.js';

export type Operators = ReturnType<typeof createOperators>;

/**
 * Manages which members may see the service's internals. No account role allows this, only `callwright admin
 * operators`.
 */
export function createOperators({ users, unverifiedUsers }: IdentityDatabase) {
  async function change(email: string, update: object): Promise<UserDocument> {
    const address = normalEmail(email) ?? email;
    const user = await users
      .findOneAndUpdate({ email: address }, update, { returnDocument: 'after' })
      .lean<UserDocument>();
    if (!user && (await unverifiedUsers.exists({ email: address, expiredAt: null }))) {
      const remedy = `Print a link for them with: callwright admin members verify-link ${address}`;
      throw new ServiceError('CONFLICT', `The e-mail address ${address} is not verified. ${remedy}`);
    }
    if (!user) throw memberNotFound(email);
    return user;
  }

  return {
    /** @throws ServiceError NOT_FOUND if no member has this e-mail address, CONFLICT if it is not verified */
    add: (email: string): Promise<UserDocument> => change(email, { $set: { operator: true } }),

    /** @throws ServiceError NOT_FOUND if no member has this e-mail address */
    remove: (email: string): Promise<UserDocument> => change(email, { $unset: { operator: '' } }),

    /** Lists the operators, oldest member first. */
    list(): Promise<UserDocument[]> {
      return users.find({ operator: true }).sort({ createdAt: 1, _id: 1 }).lean<UserDocument[]>().exec();
    },
  };
}
