import { Schema } from 'mongoose';
import type { DialQueue } from './dial-queue.js';

/** The dial queue of one carrier account. Every change is one update guarded by the version. */
export interface DialPacingDocument extends DialQueue {
  /** The carrier's account identifier. */
  _id: string;
  version: number;
}

export const dialPacingSchema = new Schema<DialPacingDocument>(
  {
    _id: String,
    version: { type: Number, required: true },
    nextSlotAt: { type: Number, required: true },
    turn: { type: Number, required: true },
    waiting: { type: Schema.Types.Mixed, required: true, default: {} },
    recent: Schema.Types.Mixed,
  },
  { collection: 'dial_pacing', versionKey: false, minimize: false },
);
