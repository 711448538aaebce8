import { Schema } from 'mongoose';

/** A status callback of the carrier as it came, also one that was late or changed nothing. Holds no phone number. */
export interface CarrierEventDocument {
  /** `<call id>:<carrier's call id>:<its number>`; the carrier repeats a callback with the same number. */
  _id: string;
  callId: string;
  carrierSid: string;
  sequence?: number;
  status: string;
  /** The carrier's own time; absent when it told none. */
  at?: Date;
  createdAt: Date;
  durationSeconds?: number;
  sipCode?: number;
  answeredBy?: string;
}

export const carrierEventSchema = new Schema<CarrierEventDocument>(
  {
    _id: String,
    callId: { type: String, required: true },
    carrierSid: { type: String, required: true },
    sequence: Number,
    status: { type: String, required: true },
    at: Date,
    createdAt: { type: Date, required: true },
    durationSeconds: Number,
    sipCode: Number,
    answeredBy: String,
  },
  { collection: 'carrier_events', versionKey: false },
);

// Unique only so that every server builds it.
carrierEventSchema.index({ callId: 1, createdAt: 1, _id: 1 }, { unique: true });
