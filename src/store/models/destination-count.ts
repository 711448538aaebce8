import { Schema } from 'mongoose';

/** Calls placed to numbers of a capped prefix in the current hour or day. One document that starts anew by itself. */
export interface DestinationCountDocument {
  /** `<account id>~<mode>~<prefix>~<hour|day>` */
  _id: string;
  /** The hour or day that is counted, UTC: `2026-11-21T10` or `2026-11-21`. */
  period: string;
  count: number;
  /** By call id, so that a request that is repeated is counted once. */
  calls: Record<string, true>;
}

export const destinationCountSchema = new Schema<DestinationCountDocument>(
  {
    _id: String,
    period: { type: String, required: true },
    count: { type: Number, required: true },
    calls: { type: Schema.Types.Mixed, required: true, default: {} },
  },
  { collection: 'destination_counts', versionKey: false, minimize: false },
);
