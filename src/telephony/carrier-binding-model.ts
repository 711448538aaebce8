import { Schema } from 'mongoose';
import type { ReservationResult } from '../kernel/call-signals.js';
import type { AnsweredBy } from '../kernel/call-state.js';

/** When the carrier said that it has begun a call, and by its clock. */
export interface InitiatedReport {
  receivedAt: Date;
  at?: Date | undefined;
  sequence?: number | undefined;
}

/**
 * Connects one of our calls to the carrier's call. Each call has at most one row, inserted once, by the process that
 * first knows the carrier's call. A closed row means that the call gets no carrier call any more: if the carrier
 * reports one later, we hang it up before anyone speaks.
 */
export interface CarrierBindingDocument {
  _id: string;
  /**
   * The carrier's call id. A closed row has `closed:<call id>`, and not an absent value, because the index on this field is
   * unique and not sparse: not every supported database server can build a sparse one.
   */
  carrierSid: string;
  /** The kind of carrier. Absent in closed rows and in rows of earlier releases, whose calls are Twilio's. */
  carrier?: string;
  /** The carrier's id of the account with the call. Absent in closed rows, in rows of earlier releases, and for browsers. */
  carrierAccountId?: string;
  closed?: boolean;
  /** The result of the carrier's answering machine detection; set once. */
  answeredBy?: AnsweredBy;
  /** The highest number of a new stream that we granted after a lost one. Absent: only the first stream is accepted. */
  resumptions?: number;
  /** The number of the last stream that a media server closed because it stops. */
  plannedStream?: number;
  /** When we instructed the carrier to end the call because of a failure on our side. */
  givenUpAt?: Date;
  /** Number of the last stream before the call was given up, -1 if there was none. Absent in rows of earlier releases. */
  givenUpAfter?: number;
  /**
   * Whether the answer route has told the carrier what to do with the answered outbound call. Absent in rows of inbound
   * calls and of earlier releases, for which this is not known.
   */
  isInstructed?: boolean;
  /** Why the inbound call was rejected. A repeated request for it is rejected again. */
  rejection?: Extract<ReservationResult, { outcome: 'refused' }>;
  boundAt: Date;
  /** The first callback, with which the carrier says that it has begun the call. It has no carrier event. */
  initiated?: InitiatedReport;
  /** How long after `boundAt` the carrier dials. Absent: at once, or the carrier had dialed when the call was bound. */
  queuedMs?: number;
}

export const carrierBindingSchema = new Schema<CarrierBindingDocument>(
  {
    _id: String,
    carrierSid: { type: String, required: true, unique: true },
    carrier: String,
    carrierAccountId: String,
    closed: Boolean,
    answeredBy: String,
    resumptions: Number,
    plannedStream: Number,
    givenUpAt: Date,
    givenUpAfter: Number,
    isInstructed: Boolean,
    rejection: Schema.Types.Mixed,
    boundAt: { type: Date, required: true },
    queuedMs: Number,
    initiated: Schema.Types.Mixed,
  },
  { collection: 'carrier_bindings', versionKey: false },
);
