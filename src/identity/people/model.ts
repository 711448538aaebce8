import { Schema } from 'mongoose';
import { ROLES, type Role } from '../../kernel/access.js';

/** A person, who is a member of one account. */
export interface UserDocument {
  _id: string;
  /** The address as normalized by `normalEmail`. Unique among verified people. */
  email: string;
  name: string;
  accountId: string;
  role: Role;
  /** Argon2id hash in PHC format. */
  passwordHash: string;
  createdAt: Date;
  /** Whether the person may see internals of the service. Absent for members of customers' accounts. */
  operator?: boolean;
  /**
   * True if the address is not verified. Unverified people are in a separate collection, where several may share an
   * address.
   */
  unverified?: true;
  /** Name for the account of an incomplete sign-up. The account does not exist yet. */
  openingAccount?: string;
  /** True if the person joined by invitation instead of opening the account. */
  invited?: true;
  /** True if the address is verified, but the account may not have its full limits yet. */
  verifying?: true;
  /** Unverified people only: when a verification started, so that the sign-up does not expire meanwhile. */
  verifyingSince?: Date;
  /** Unverified people only: when the sign-up expired. Queries no longer find it, and its data is being deleted. */
  expiredAt?: Date;
  /** Unverified and expired people only: time of the last attempt to delete them. */
  removalTriedAt?: Date;
  /** Unverified people only: the sign-up never expires, because the account has received money. */
  kept?: true;
}

/**
 * A portal session. `_id` is the SHA-256 of the cookie's value, so that a leaked database reveals no usable session.
 */
export interface LoginSessionDocument {
  _id: string;
  userId: string;
  createdAt: Date;
  lastSeenAt: Date;
  /**
   * Hash of the password hash. Changing the password therefore ends the session. Absent in sessions of an earlier
   * version.
   */
  credential?: string;
}

/** A link that was e-mailed. `_id` is the SHA-256 of its token. */
export interface EmailLinkDocument {
  _id: string;
  purpose: 'verify' | 'reset';
  /** To reset a password, a person's id. To verify an e-mail address, that address. */
  subject: string;
  createdAt: Date;
  expiresAt: Date;
}

/** An invitation. `_id` is the SHA-256 of the token. */
export interface InvitationDocument {
  _id: string;
  invitationId: string;
  accountId: string;
  email: string;
  role: Role;
  /** Member who created the invitation; absent: an operator. */
  invitedBy?: string;
  /** True if the token was e-mailed to the address, or an operator confirms that the address belongs to the person. */
  provesAddress?: boolean;
  createdAt: Date;
  expiresAt: Date;
}

const role = { type: String, enum: ROLES, required: true };

/** Fields of verified and unverified people. */
const personFields = {
  _id: String,
  name: { type: String, required: true },
  accountId: { type: String, required: true },
  role,
  passwordHash: { type: String, required: true },
  createdAt: { type: Date, required: true },
  openingAccount: String,
  invited: Boolean,
};

export const userSchema = new Schema<UserDocument>(
  {
    ...personFields,
    email: { type: String, required: true, unique: true },
    operator: Boolean,
    verifying: Boolean,
  },
  { collection: 'users', versionKey: false },
);
userSchema.index({ accountId: 1, createdAt: 1 });

export const unverifiedUserSchema = new Schema<UserDocument>(
  {
    ...personFields,
    email: { type: String, required: true },
    unverified: { type: Boolean, required: true },
    verifyingSince: Date,
    expiredAt: Date,
    removalTriedAt: Date,
    kept: Boolean,
  },
  { collection: 'unverified_users', versionKey: false },
);
unverifiedUserSchema.index({ email: 1, passwordHash: 1 });
unverifiedUserSchema.index({ createdAt: 1 });
unverifiedUserSchema.index({ accountId: 1 });
unverifiedUserSchema.index({ expiredAt: 1 }, { sparse: true });

export const emailLinkSchema = new Schema<EmailLinkDocument>(
  {
    _id: String,
    purpose: { type: String, enum: ['verify', 'reset'], required: true },
    subject: { type: String, required: true },
    createdAt: { type: Date, required: true },
    expiresAt: { type: Date, required: true },
  },
  { collection: 'email_links', versionKey: false },
);
emailLinkSchema.index({ subject: 1 });
emailLinkSchema.index({ expiresAt: 1 }, { expireAfterSeconds: 0 });

/** A session that was not used for this long is over. */
export const SESSION_IDLE_SECONDS = 12 * 3_600;

export const loginSessionSchema = new Schema<LoginSessionDocument>(
  {
    _id: String,
    userId: { type: String, required: true },
    createdAt: { type: Date, required: true },
    lastSeenAt: { type: Date, required: true },
    credential: String,
  },
  { collection: 'sessions', versionKey: false },
);
loginSessionSchema.index({ userId: 1 });
loginSessionSchema.index({ lastSeenAt: 1 }, { expireAfterSeconds: SESSION_IDLE_SECONDS });

export const invitationSchema = new Schema<InvitationDocument>(
  {
    _id: String,
    invitationId: { type: String, required: true, unique: true },
    accountId: { type: String, required: true },
    email: { type: String, required: true },
    role,
    invitedBy: String,
    provesAddress: Boolean,
    createdAt: { type: Date, required: true },
    expiresAt: { type: Date, required: true },
  },
  { collection: 'invitations', versionKey: false },
);
// For listing and withdrawing by account, and for withdrawing by inviter.
invitationSchema.index({ accountId: 1, createdAt: -1 });
invitationSchema.index({ invitedBy: 1 });
invitationSchema.index({ expiresAt: 1 }, { expireAfterSeconds: 0 });
