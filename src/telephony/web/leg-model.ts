import { Schema } from 'mongoose';
import type { Mode } from '../../kernel/ids.js';

/** Why a leg ended. `lost`: no heartbeat for too long. `unopened`: its first token expired unused. */
export type LegEndCause = 'caller' | 'service' | 'limit' | 'lost' | 'unopened';

/**
 * The browser's side of a call, as a carrier's record of the call. It contains no personal data. All times are by the
 * database server's clock, because several processes write them and the call is billed by them.
 */
export interface WebLegDocument {
  /** The call's id with another prefix, see `legIdOf`. */
  _id: string;
  accountId: string;
  mode: Mode;
  /** The id of the key or session that opened the call; absent in legs of earlier versions. */
  openedBy?: string;
  createdAt: Date;
  /** Until when the first token is valid. */
  expiresAt: Date;
  /** SHA-256 of the token that admits the next socket. Removed at the end. */
  tokenHash?: string;
  /** SHA-256 of the token before that, which is valid, too, while the browser may not have received the new one. */
  previousTokenHash?: string;
  /** The socket that the leg belongs to. A later socket replaces it. */
  socketId?: string;
  /** The number of the last media stream; 0 is the first one. */
  streamNumber: number;
  /** When the first socket was admitted. */
  startedAt?: Date;
  /** The last heartbeat; before the start, the time of the request. */
  seenAt: Date;
  /** Seconds from the start after which the leg ends, even if no process of the service runs. */
  limitSeconds: number;
  /** Set once. */
  endedAt?: Date;
  endCause?: LegEndCause;
  /** False once the call's workflow knows the end. */
  open: boolean;
}

export const webLegSchema = new Schema<WebLegDocument>(
  {
    _id: String,
    accountId: { type: String, required: true },
    mode: { type: String, enum: ['live', 'test'], required: true },
    openedBy: String,
    createdAt: { type: Date, required: true },
    expiresAt: { type: Date, required: true },
    tokenHash: String,
    previousTokenHash: String,
    socketId: String,
    streamNumber: { type: Number, required: true },
    startedAt: Date,
    seenAt: { type: Date, required: true },
    limitSeconds: { type: Number, required: true },
    endedAt: Date,
    endCause: String,
    open: { type: Boolean, required: true },
  },
  { collection: 'web_legs', versionKey: false },
);

// Nothing reads a leg once its workflow knows the end and its bill is final, which takes three days at most.
webLegSchema.index({ endedAt: 1 }, { expireAfterSeconds: 30 * 24 * 3_600, partialFilterExpression: { open: false } });
// The index is unique only because the embedded database server builds no other kind.
webLegSchema.index({ open: 1, seenAt: 1, _id: 1 }, { unique: true });
