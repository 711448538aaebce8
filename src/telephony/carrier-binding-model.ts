import { Schema } from 'mongoose';
import type { AnsweredBy } from '../kernel/call-state.js';

/**
 * Which of the carrier's calls a call of ours is: one row per call, inserted once, by whoever learns of it first. A
 * closed row says that no carrier call may ever be bound: one that turns up later is hung up before anyone is spoken to.
 */
export interface CarrierBindingDocument {
  _id: string;
  /** `closed:<call id>` in a closed row, because the index is unique and every server must be able to build it. */
  carrierSid: string;
  /** Kind of the carrier that carries the call. Absent in closed rows and in those of earlier releases, which are Twilio's. */
  carrier?: string;
  closed?: boolean;
  /** Who answered, by the carrier's own detection; told once. */
  answeredBy?: AnsweredBy;
  /** The highest number of a stream that was granted after a lost one; absent: only the first stream is admitted. */
  resumptions?: number;
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
    boundAt: { type: Date, required: true },
  },
  { collection: 'carrier_bindings', versionKey: false },
);
