import { Schema } from 'mongoose';

/** A count for one hour or day. When something is counted in a later hour or day, the count starts from 0. */
export interface PeriodCountDocument {
  _id: string;
  /** The counted hour or day in UTC: `2026-11-21T10` or `2026-11-21`. */
  period: string;
  count: number;
  /**
   * Everything that is counted, such as calls by their ids, so that each counts once. False: removed from the count,
   * and not counted again in this period. A number: an amount that grows, such as the cost of a stream that continues.
   */
  calls: Record<string, boolean | number>;
  expiresAt?: Date;
}

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
