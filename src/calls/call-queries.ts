import type { Mode } from '../kernel/ids.js';
import type { CallsDatabase } from './database.js';
import { CALL_STATUSES, isFinalStatus, type CallStatus, type Direction } from '../kernel/call-state.js';
import type { CallDocument } from './call-model.js';
import { readPage, type Page, type PagePosition } from '../platform/mongo/pages.js';
import type { CallEnding } from '../voice/call-reader.js';

const FINAL_STATUSES = CALL_STATUSES.filter(isFinalStatus);

/** What a list of calls is narrowed to; times of creation, `from` included, `to` not. */
export interface CallFilter {
  status?: CallStatus;
  direction?: Direction;
  agentId?: string;
  externalCallId?: string;
  from?: Date;
  to?: Date;
}

/** One of the two is another whenever the call has changed. */
export type CallMark = Pick<CallDocument, 'sequence' | 'updatedAt'>;

/** What those who wait for a call want to know of it. */
export type CallStanding = Pick<CallDocument, '_id' | 'status' | 'endReason' | 'erasedAt'>;

export type CallQueries = ReturnType<typeof createCallQueries>;

/** Reads of the call read model, always within one account and mode: another's call is not found. */
export function createCallQueries(database: CallsDatabase) {
  return {
    find(query: { callId: string; accountId: string; mode: Mode }): Promise<CallDocument | null> {
      const { callId, accountId, mode } = query;
      return database.calls.findOne({ _id: callId, accountId, mode }).lean<CallDocument>().exec();
    },

    /** Whether a call has moved, for those who have read it before. */
    mark({ callId, ...owner }: { callId: string; accountId: string; mode: Mode }): Promise<CallMark | null> {
      const fields = { sequence: 1, updatedAt: 1 };
      return database.calls
        .findOne({ _id: callId, ...owner }, fields)
        .lean<CallMark>()
        .exec();
    },

    /** How these calls stand, for those who have found them before. */
    async standing(callIds: readonly string[]): Promise<Map<string, CallStanding>> {
      const found = await database.calls
        .find({ _id: { $in: [...callIds] } }, { status: 1, endReason: 1, erasedAt: 1 })
        .lean<CallStanding[]>()
        .exec();
      return new Map(found.map((call) => [call._id, call]));
    },

    /**
     * One page of the account's calls of a mode, newest first, without what only a single call is asked for.
     * @param p.signal ends the reading
     */
    page(p: {
      accountId: string;
      mode: Mode;
      filter: CallFilter;
      after?: PagePosition;
      limit: number;
      signal?: AbortSignal;
    }): Promise<Page<CallDocument>> {
      const { accountId, mode, filter, ...position } = p;
      const { from, to, ...equal } = filter;
      const range = { ...(from ? { $gte: from } : {}), ...(to ? { $lt: to } : {}) };
      const createdAt = Object.keys(range).length > 0 ? { createdAt: range } : {};
      return readPage<CallDocument>(database.calls, {
        filter: { accountId, mode, ...equal, ...createdAt },
        fields: { transcription: 0, inputParameters: 0, outputParameters: 0, changes: 0 },
        ...position,
      });
    },

    /** Of these calls, those that are over, and those that want of money or time will end, with the second of talk at which. */
    async endings(callIds: readonly string[]): Promise<Map<string, CallEnding>> {
      const ends = {
        $or: [{ endsAfterSeconds: { $gt: 0 } }, { status: { $in: FINAL_STATUSES } }],
      };
      const found = await database.calls
        .find({ _id: { $in: [...callIds] }, ...ends }, { endsAfterSeconds: 1, status: 1 })
        .lean<Pick<CallDocument, '_id' | 'endsAfterSeconds' | 'status'>[]>()
        .exec();
      return new Map(
        found.map(({ _id, endsAfterSeconds = 0, status }) => [_id, isFinalStatus(status) ? 'over' : endsAfterSeconds]),
      );
    },

    /** Whether everything personal was taken out of a call. */
    async isErased(callId: string): Promise<boolean> {
      return (await database.calls.exists({ _id: callId, erasedAt: { $exists: true } })) !== null;
    },

    /** Whether a call has ended, for carrier and media routes that know only its id. False when it is unknown. */
    async isFinal(callId: string): Promise<boolean> {
      const call = await database.calls.findById(callId, { status: 1 }).lean<Pick<CallDocument, 'status'>>().exec();
      return call !== null && isFinalStatus(call.status);
    },
  };
}
