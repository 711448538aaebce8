import { Schema } from 'mongoose';
import type { AnsweredBy } from '../kernel/call-state.js';

/**
 * Maps a call of ours to the carrier's call. One row per call, inserted once, by the process that first learns of the
 * carrier's call. A closed row means that no carrier call may be bound any more: one that appears later is hung up
 * before anyone speaks.
 */
export interface CarrierBindingDocument {
  _id: string;
  /**
   * `closed:<call id>` in a closed row: the index is unique, and not sparse so that every supported database server can
   * build it.
   */
  carrierSid: string;
  /** The kind of the carrier. Absent in closed rows and in rows of earlier releases, which are Twilio calls. */
  carrier?: string;
  closed?: boolean;
  /** The result of the carrier's answering machine detection; set once. */
  answeredBy?: AnsweredBy;
  /** The highest stream number granted after a lost stream; absent: only the first stream is admitted. */
  resumptions?: number;
  /** When the carrier was told to end the call because of a fault of ours. */
  givenUpAt?: Date;
  boundAt: Date;
}

export const carrierBindingSchema = new Schema<CarrierBindingDocument>(
  {
    _id: String,
    carrierSid: { type: String, required: true, unique: true },
    carrier: String,
    closed: Boolean,
    answeredBy: String,
    resumptions: Number,
    givenUpAt: Date,
    boundAt: { type: Date, required: true },
  },
  { collection: 'carrier_bindings', versionKey: false },
);
