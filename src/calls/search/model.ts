import { Schema } from 'mongoose';
import type { CallStatus, Direction } from '../../kernel/call-state.js';
import type { Mode } from '../../kernel/ids.js';

/**
 * The terms under which an ended call is found, with the fields by which lists of calls are filtered. They do not change
 * any more. Erasing a call deletes its document. Not a part of the call, because the terms would slow down all lists.
 */
export interface CallSearchDocument {
  /** The call's id. */
  _id: string;
  accountId: string;
  mode: Mode;
  status: CallStatus;
  direction: Direction;
  agentId: string;
  externalCallId: string;
  createdAt: Date;
  terms: string[];
}

export const callSearchSchema = new Schema<CallSearchDocument>(
  {
    _id: String,
    accountId: String,
    mode: String,
    status: String,
    direction: String,
    agentId: String,
    externalCallId: String,
    createdAt: Date,
    terms: [String],
  },
  { collection: 'call_search', versionKey: false },
);

// Embedded servers do not build this index and scan all documents.
callSearchSchema.index({ accountId: 1, mode: 1, terms: 1, createdAt: -1, _id: 1 });
