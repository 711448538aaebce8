import { Schema } from 'mongoose';

/**
 * A status callback as received, or a dial that the carrier rejected. Late callbacks, and those that change nothing, are
 * stored, too; only `initiated` of an outbound call is in its binding. It contains no phone numbers.
 */
export interface CarrierEventDocument {
  /**
   * `<call id>:<carrier's call id>:<sequence>`, with the status in place of a missing or high sequence number, and of that
   * of an ended call. A repeated callback has the same id. A rejected dial has `none` in place of the carrier's call id.
   */
  _id: string;
  callId: string;
  /** Absent for a rejected dial. */
  carrierSid?: string;
  sequence?: number;
  status: string;
  /** The time in the callback, by the carrier's clock. Absent when the callback had none. */
  at?: Date;
  createdAt: Date;
  durationSeconds?: number;
  sipCode?: number;
  answeredBy?: string;
  /** The carrier's error code of a rejected dial. */
  errorCode?: string;
  /** Why the carrier rejected the dial, in words. */
  reason?: string;
  /** Whether only the operator of the service can remove the cause of the rejection. */
  isOperatorFault?: boolean;
}

export const carrierEventSchema = new Schema<CarrierEventDocument>(
  {
    _id: String,
    callId: { type: String, required: true },
    carrierSid: String,
    sequence: Number,
    status: { type: String, required: true },
    at: Date,
    createdAt: { type: Date, required: true },
    durationSeconds: Number,
    sipCode: Number,
    answeredBy: String,
    errorCode: String,
    reason: String,
    isOperatorFault: Boolean,
  },
  { collection: 'carrier_events', versionKey: false },
);

// The index is unique only because the embedded database server builds no other kind.
carrierEventSchema.index({ callId: 1, createdAt: 1, _id: 1 }, { unique: true });
