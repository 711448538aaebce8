import { Schema } from 'mongoose';
import type { PeriodCountDocument } from '../../platform/mongo/period-counts.js';

const fields = {
  _id: String,
  period: { type: String, required: true },
  count: { type: Number, required: true },
  calls: { type: Schema.Types.Mixed, required: true, default: {} },
};

/**
 * Counts of dials per account or prefix with a cap. The id of a count by prefix is `<account
 * id>~<mode>~<prefix>~<hour|day>`.
 */
export const destinationCountSchema = new Schema<PeriodCountDocument>(fields, {
  collection: 'destination_counts',
  versionKey: false,
  minimize: false,
});

/** Unanswered dials of one number by all accounts together. The id is an HMAC of the number. */
export const unansweredAttemptSchema = new Schema<PeriodCountDocument>(
  { ...fields, expiresAt: { type: Date, required: true, index: true } },
  { collection: 'unanswered_attempts', versionKey: false, minimize: false },
);

/**
 * Unanswered dials of one number by one account, including dials that the account canceled at once. The id is an HMAC
 * of account and number.
 */
export const accountAttemptSchema = new Schema<PeriodCountDocument>(
  { ...fields, expiresAt: { type: Date, required: true, index: true } },
  { collection: 'account_attempts', versionKey: false, minimize: false },
);
