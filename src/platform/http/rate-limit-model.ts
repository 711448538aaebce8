import { Schema } from 'mongoose';

/** Requests counted in the current minute of one API key, as rate-limiter-flexible keeps them. */
export interface RateLimitDocument {
  key: string;
  points: number;
  expire: Date | null;
}

export const rateLimitSchema = new Schema<RateLimitDocument>(
  {
    key: { type: String, required: true, unique: true },
    points: { type: Number, required: true },
    expire: Date,
  },
  { collection: 'rate_limits', versionKey: false },
);
// Anybody can make rows, by trying e-mail addresses.
rateLimitSchema.index({ expire: 1 }, { expireAfterSeconds: 0 });
