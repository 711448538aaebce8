import { Schema } from 'mongoose';

/** A counter of one key in the current time window, in the format of rate-limiter-flexible. */
export interface RateLimitDocument {
  key: string;
  points: number;
  /** Number of processes that have leased points; absent for limits without leases. */
  holders?: number;
  expire: Date | null;
}

export const rateLimitSchema = new Schema<RateLimitDocument>(
  {
    key: { type: String, required: true, unique: true },
    points: { type: Number, required: true },
    holders: Number,
    expire: Date,
  },
  { collection: 'rate_limits', versionKey: false },
);
// Anyone can create rows by trying e-mail addresses, so MongoDB deletes expired ones.
rateLimitSchema.index({ expire: 1 }, { expireAfterSeconds: 0 });
