import { Schema } from 'mongoose';

/** A status callback as received, including late ones and ones that changed nothing. Contains no phone number. */
export interface CarrierEventDocument {
  /**
   * `<call id>:<carrier's call id>:<sequence>`, or with the status if there is no sequence number. A repeated callback
   * has the same sequence number.
   */
  _id: string;
  callId: string;
  carrierSid: string;
  sequence?: number;
  status: string;
  /** The carrier's own timestamp; absent when the callback had none. */
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

// Unique only because the embedded database server builds no other kind of index.
carrierEventSchema.index({ callId: 1, createdAt: 1, _id: 1 }, { unique: true });
