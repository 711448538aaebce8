import { Schema } from 'mongoose';
import type { Mode } from '../../kernel/ids.js';

/** An API key. `_id` is an HMAC of the secret, so that lookups leak nothing by timing. The secret is not stored. */
export interface ApiKeyDocument {
  _id: string;
  keyId: string;
  accountId: string;
  /** The HMACs under the last two newer peppers with which the key was used, newest last. */
  rehashed?: string[];
  /** Names the pepper with which it was last found: that of `_id` or of `rehashed`. Absent: the first pepper of this deployment. */
  pepperId?: string;
  mode: Mode;
  name: string;
  prefix: string;
  lastFour: string;
  createdAt: Date;
  /** Ids of the keys that led to this one, oldest first; the last one created it. Absent if a person created it. */
  ancestors?: string[];
  /** Member who created this key or its first ancestor. Absent: created by an operator, or by an earlier version. */
  madeByUser?: string;
  expiresAt?: Date;
  revokedAt?: Date;
  lastUsedAt?: Date;
}

export const apiKeySchema = new Schema<ApiKeyDocument>(
  {
    _id: String,
    keyId: { type: String, required: true, unique: true },
    accountId: { type: String, required: true },
    rehashed: { type: [String], default: undefined },
    pepperId: String,
    mode: { type: String, enum: ['live', 'test'], required: true },
    name: { type: String, required: true },
    prefix: { type: String, required: true },
    lastFour: { type: String, required: true },
    createdAt: { type: Date, required: true },
    ancestors: { type: [String], default: undefined },
    madeByUser: String,
    expiresAt: Date,
    revokedAt: Date,
    lastUsedAt: Date,
  },
  { collection: 'api_keys', versionKey: false },
);

// For listing the keys of an account, newest first. The index is unique only because some servers build no other kind.
apiKeySchema.index({ accountId: 1, mode: 1, createdAt: -1, _id: 1 }, { unique: true });
// For keys that were made under an earlier pepper. `_id` makes it unique only because some servers build no other kind.
apiKeySchema.index({ rehashed: 1, _id: 1 }, { unique: true });
// Servers that support TTL indexes delete keys 30 days after revocation.
apiKeySchema.index({ revokedAt: 1 }, { expireAfterSeconds: 30 * 24 * 3_600 });
