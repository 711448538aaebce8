import { Schema } from 'mongoose';
import { ROLES, type Role } from '../../kernel/access.js';

/** A person, who is a member of one account. */
export interface UserDocument {
  _id: string;
  /** Normalised, see `normalEmail`; unique among verified people. */
  email: string;
  name: string;
  accountId: string;
  role: Role;
  /** Argon2id hash in PHC format. */
  passwordHash: string;
  createdAt: Date;
  /** May see internals of the service; absent on customers' members. */
  operator?: boolean;
  /** Has not verified the address. Stored in a separate collection, where several people may have the same address. */
  unverified?: true;
  /** Name for the account of an incomplete sign-up, which has not been created yet. */
  openingAccount?: string;
  /** Joined by invitation instead of opening the account. */
  invited?: true;
  /** Verified, but the account may not have its full limits yet. */
  verifying?: true;
  /** If unverified: when a verification started, so that the sign-up does not expire meanwhile. */
  verifyingSince?: Date;
  /** If unverified: when the sign-up expired. It is no longer found, and its data is being deleted. */
  expiredAt?: Date;
  /** If unverified and expired: the last attempt to delete it. */
  removalTriedAt?: Date;
  /** If unverified: never expires, because the account has received money. */
  kept?: true;
}

/** `_id` is the SHA-256 of the cookie's value, so that a reader of the database cannot use the session. */
export interface SessionDocument {
  _id: string;
  userId: string;
  createdAt: Date;
  lastSeenAt: Date;
  /** Hash of the password hash: changing the password ends the session. Absent in sessions of an earlier version. */
  credential?: string;
}

/** A link that was e-mailed. `_id` is the SHA-256 of its token. */
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
  /** Member who invites; absent: an operator. */
  invitedBy?: string;
  /** The token was e-mailed to the address, or an operator vouches for the address. */
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
// For listing and withdrawing by account, and for withdrawing by inviter.
invitationSchema.index({ accountId: 1, createdAt: -1 });
invitationSchema.index({ invitedBy: 1 });
invitationSchema.index({ expiresAt: 1 }, { expireAfterSeconds: 0 });
