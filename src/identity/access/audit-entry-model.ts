import { Schema } from 'mongoose';
import type { Mode } from '../../kernel/ids.js';

/** One change of an account and who made it. Names what was changed, never to what. */
export interface AuditEntryDocument {
  _id: string;
  accountId: string;
  createdAt: Date;
  /** `test` when nothing but test mode was changed. Absent with entries of an earlier version, which count as live. */
  mode?: Mode;
  actorKind: 'key' | 'member' | 'service';
  actorId: string;
  /** The key's name or the member's e-mail address at that time; of a sign-up that expired, that it did. */
  actorName: string;
  action: string;
  target?: string;
  requestId: string;
  /** With entries of test mode: when it is removed. */
  expiresAt?: Date;
}

export const auditEntrySchema = new Schema<AuditEntryDocument>(
  {
    _id: String,
    accountId: { type: String, required: true },
    createdAt: { type: Date, required: true },
    mode: String,
    actorKind: { type: String, required: true },
    actorId: { type: String, required: true },
    actorName: { type: String, required: true },
    action: { type: String, required: true },
    target: String,
    requestId: { type: String, required: true },
    expiresAt: Date,
  },
  { collection: 'audit_log', versionKey: false },
);

// Unique only so that every server builds it; the log pages on it.
auditEntrySchema.index({ accountId: 1, createdAt: -1, _id: 1 }, { unique: true });
auditEntrySchema.index({ accountId: 1, mode: 1, createdAt: -1, _id: 1 }, { unique: true });
auditEntrySchema.index({ actorId: 1, actorName: 1 });
auditEntrySchema.index({ expiresAt: 1 }, { expireAfterSeconds: 0 });
