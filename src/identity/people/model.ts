import { Schema } from 'mongoose';
import { ROLES, type Role } from '../../kernel/access.js';

/** A person, member of one account. */
export interface UserDocument {
  _id: string;
  /** In lower case; one person per address. */
  email: string;
  name: string;
  accountId: string;
  role: Role;
  /** Argon2id, in PHC form. */
  passwordHash: string;
  createdAt: Date;
  /** Runs this service; absent on customers' members. */
  operator?: boolean;
  /** Has not shown that the address is theirs; kept in a collection of its own, where several may have one address. */
  unverified?: true;
  /** With a sign-up whose account is not there yet: how it is to be called. */
  openingAccount?: string;
  /** Joined an account by invitation, and did not open it. */
  invited?: true;
  /** Verified, but the account may not have its full limits yet. */
  verifying?: true;
  /** With somebody unverified: a verification began, so that the sign-up does not expire meanwhile. */
  verifyingSince?: Date;
  /** With somebody unverified: when the sign-up expired. Nobody finds it any more, and what hangs on it is being deleted. */
  expiredAt?: Date;
  /** With somebody unverified whose sign-up expired: when its removal was tried last. */
  removalTriedAt?: Date;
  /** With somebody unverified: does not expire, because money was paid into the account. */
  kept?: true;
}

/** `_id` is the SHA-256 of the cookie's value, so that who reads the database cannot log in by it. */
export interface SessionDocument {
  _id: string;
  userId: string;
  createdAt: Date;
  lastSeenAt: Date;
  /** A hash of the password's hash: another password ends the session. Absent with sessions of an earlier version. */
  credential?: string;
}

/** A link that was sent to somebody's address. `_id` is the SHA-256 of its token. */
export interface EmailLinkDocument {
  _id: string;
  purpose: 'verify' | 'reset';
  /** A person's id to reset a password, an e-mail address to verify it. */
  subject: string;
  createdAt: Date;
  expiresAt: Date;
}

/** `_id` is the SHA-256 of the token. */
export interface InvitationDocument {
  _id: string;
  invitationId: string;
  accountId: string;
  email: string;
  role: Role;
  /** The member who invites; absent: an operator. */
  invitedBy?: string;
  /** The token was mailed to the address, or an operator vouches for it. */
  provesAddress?: boolean;
  createdAt: Date;
  expiresAt: Date;
}

const role = { type: String, enum: ROLES, required: true };

/** Of people, whether or not their address is verified. */
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

export const sessionSchema = new Schema<SessionDocument>(
  {
    _id: String,
    userId: { type: String, required: true },
    createdAt: { type: Date, required: true },
    lastSeenAt: { type: Date, required: true },
    credential: String,
  },
  { collection: 'sessions', versionKey: false },
);
sessionSchema.index({ userId: 1 });

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
// Listed and withdrawn by account, withdrawn by the person who made them.
invitationSchema.index({ accountId: 1, createdAt: -1 });
invitationSchema.index({ invitedBy: 1 });
invitationSchema.index({ expiresAt: 1 }, { expireAfterSeconds: 0 });
