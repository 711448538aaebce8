import { Schema } from 'mongoose';
import type { Mode } from '../../kernel/ids.js';

/**
 * A change to an account and the person or key that made it. Contains the id of what was changed, never the new value.
 */
export interface AuditEntryDocument {
  _id: string;
  accountId: string;
  createdAt: Date;
  /** `test` if the change affected test mode only. Entries of an earlier version have no mode and count as live. */
  mode?: Mode;
  actorKind: 'key' | 'member' | 'service';
  actorId: string;
  /** The key's name or the member's e-mail address at the time of the change. For an expired sign-up, a fixed text. */
  actorName: string;
  action: string;
  target?: string;
  requestId: string;
  /** The request failed after the change had begun, so it is not known whether it was made. */
  unconfirmed?: true;
  /** When the entry is deleted. Set only in entries of test mode. */
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
    unconfirmed: Boolean,
    expiresAt: Date,
  },
  { collection: 'audit_log', versionKey: false },
);

// For pages of the log. The index is unique only because some servers build no other kind.
auditEntrySchema.index({ accountId: 1, createdAt: -1, _id: 1 }, { unique: true });
auditEntrySchema.index({ accountId: 1, mode: 1, createdAt: -1, _id: 1 }, { unique: true });
auditEntrySchema.index({ actorId: 1, actorName: 1 });
// For the retention of the log.
auditEntrySchema.index({ createdAt: 1, _id: 1 }, { unique: true });
auditEntrySchema.index({ expiresAt: 1 }, { expireAfterSeconds: 0 });
