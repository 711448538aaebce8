import { createHash, randomBytes } from 'node:crypto';
import { ulid } from 'ulid';
import type { Role } from '../../kernel/access.js';
import { ServiceError } from '../../kernel/errors.js';
import type { IdentityDatabase } from '../database.js';
import type { InvitationDocument, UserDocument } from './model.js';

const INVITATION_MS = 7 * 24 * 3_600_000;
/** Maximum invitations in the list of an account. */
const MAX_LISTED = 200;

export interface NewInvitation {
  accountId: string;
  email: string;
  role: Role;
  /** Member who created the invitation; absent: an operator. */
  invitedBy?: string;
  /** Whether only the holder of the e-mail address can receive the token. */
  provesAddress: boolean;
}

export type Invitations = ReturnType<typeof createInvitations>;

/** Manages open invitations to accounts. Tokens are stored as hashes. */
export function createInvitations({ invitations, users }: IdentityDatabase) {
  /** Whether the inviter is still an owner. Invitations of a removed or demoted owner become invalid. */
  async function mayStillInvite({ invitedBy, accountId }: InvitationDocument): Promise<boolean> {
    if (invitedBy === undefined) return true;
    const inviter = await users.findOne({ _id: invitedBy, accountId }).lean<UserDocument>();
    return inviter?.role === 'owner';
  }

  const notOpen = () => new ServiceError('NOT_FOUND', 'This invitation is no longer valid. Ask for a new one.');

  return {
    notOpen,

    /** Creates an invitation. Its token is returned here and stored nowhere. */
    async create(p: NewInvitation): Promise<{ token: string; invitation: InvitationDocument }> {
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

    /** Open invitations of an account, newest first. */
    async list(accountId: string): Promise<InvitationDocument[]> {
      const found = await invitations
        .find({ accountId, expiresAt: { $gt: new Date() } })
        .sort({ createdAt: -1 })
        .limit(MAX_LISTED)
        .lean<InvitationDocument[]>();
      return found;
    },

    /**
     * Finds an open invitation.
     * @throws ServiceError NOT_FOUND if it is unknown, used, withdrawn or expired, or its inviter may no longer invite
     */
    async find(token: string): Promise<InvitationDocument> {
      const invitation = await invitations.findOne({ _id: hashOf(token) }).lean<InvitationDocument>();
      const isOpen = invitation && invitation.expiresAt.getTime() > Date.now() && (await mayStillInvite(invitation));
      if (isOpen) return invitation;
      throw notOpen();
    },

    /** @throws ServiceError NOT_FOUND */
    async withdraw(accountId: string, invitationId: string): Promise<InvitationDocument> {
      const invitation = await invitations.findOneAndDelete({ accountId, invitationId }).lean<InvitationDocument>();
      if (!invitation) throw new ServiceError('NOT_FOUND', 'There is no open invitation with this invitation_id.');
      return invitation;
    },

    /** Withdraws every invitation that a member created. */
    async withdrawBy(userId: string): Promise<void> {
      await invitations.deleteMany({ invitedBy: userId });
    },

    /** Withdraws every invitation of an address to an account, such as older invitations when one is accepted. */
    async withdrawAll(accountId: string, email: string): Promise<void> {
      await invitations.deleteMany({ accountId, email });
    },
  };
}

function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
