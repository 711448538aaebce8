import { Schema } from 'mongoose';
import { ROLES, type Role } from '../../domain/access.js';

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
  /** With a sign-up whose account is not there yet: how it is to be called. */
  openingAccount?: string;
}

/** `_id` is the SHA-256 of the cookie's value, so that who reads the database cannot log in by it. */
export interface SessionDocument {
  _id: string;
  userId: string;
  createdAt: Date;
  lastSeenAt: Date;
}

/** `_id` is the SHA-256 of the token. */
export interface InvitationDocument {
  _id: string;
  invitationId: string;
  accountId: string;
  email: string;
  role: Role;
  createdAt: Date;
  expiresAt: Date;
}

const role = { type: String, enum: ROLES, required: true };

export const userSchema = new Schema<UserDocument>(
  {
    _id: String,
    email: { type: String, required: true, unique: true },
    name: { type: String, required: true },
    accountId: { type: String, required: true },
    role,
    passwordHash: { type: String, required: true },
    createdAt: { type: Date, required: true },
    operator: Boolean,
    openingAccount: String,
  },
  { collection: 'users', versionKey: false },
);
userSchema.index({ accountId: 1, createdAt: 1 });

export const sessionSchema = new Schema<SessionDocument>(
  {
    _id: String,
    userId: { type: String, required: true },
    createdAt: { type: Date, required: true },
    lastSeenAt: { type: Date, required: true },
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
    createdAt: { type: Date, required: true },
    expiresAt: { type: Date, required: true },
  },
  { collection: 'invitations', versionKey: false },
);
