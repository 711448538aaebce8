import { Schema } from 'mongoose';

/** A count of one hour or day, which starts anew by itself. */
export interface PeriodCountDocument {
  _id: string;
  /** The hour or day that is counted, UTC: `2026-11-21T10` or `2026-11-21`. */
  period: string;
  count: number;
  /** By member, so that one that is asked for again is counted once; false: taken out for good. */
  calls: Record<string, boolean>;
  expiresAt?: Date;
}

const fields = {
  _id: String,
  period: { type: String, required: true },
  count: { type: Number, required: true },
  calls: { type: Schema.Types.Mixed, required: true, default: {} },
};

/** Calls to numbers of a capped prefix. The id is `<account id>~<mode>~<prefix>~<hour|day>`. */
export const destinationCountSchema = new Schema<PeriodCountDocument>(fields, {
  collection: 'destination_counts',
  versionKey: false,
  minimize: false,
});

/** Dials of one number that were not answered, of all accounts together. The id is a keyed hash of the number. */
export const unansweredAttemptSchema = new Schema<PeriodCountDocument>(
  { ...fields, expiresAt: { type: Date, required: true, index: true } },
  { collection: 'unanswered_attempts', versionKey: false, minimize: false },
);

/** The same dials of one account alone, those too that it has cancelled at once. The id is a keyed hash of account and number. */
export const accountAttemptSchema = new Schema<PeriodCountDocument>(
  { ...fields, expiresAt: { type: Date, required: true, index: true } },
  { collection: 'account_attempts', versionKey: false, minimize: false },
);
