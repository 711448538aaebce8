import type { Mode } from '../kernel/ids.js';
import type { CallsDatabase } from './database.js';
import { CALL_STATUSES, isFinalStatus } from '../kernel/call-state.js';
import type { CallDocument } from './call-model.js';
import { driverCollection } from '../platform/mongo/driver-collection.js';
import { readPage, type Page } from '../platform/mongo/pages.js';
import { findRaw, type RawDocument } from '../platform/mongo/raw-document.js';
import { equalFilter, type CallPageQuery } from './call-filter.js';
import { readSearchPage } from './search/search-page.js';
import type { CallEnding } from '../voice/call-reader.js';
import type { DeliveredCall } from '../webhooks/schemas.js';

const FINAL_STATUSES = CALL_STATUSES.filter(isFinalStatus);

/** The fields that only the detail view of a call needs. */
const DETAIL_FIELDS = { transcription: 0, inputParameters: 0, outputParameters: 0, changes: 0 } as const;

/** The fields that reveal whether a call has changed: every change of a call changes at least one of them. */
export type CallVersion = Pick<CallDocument, 'sequence' | 'updatedAt'>;

/** The fields needed by API requests that wait for a call to change. */
export type CallStatusFields = Pick<CallDocument, '_id' | 'status' | 'endReason' | 'erasedAt'>;

/** The fields that clients of /outbound_call see. */
export type ShownStatus = Pick<CallDocument, '_id' | 'status' | 'waitingFor'>;

/** A call of an account in one mode. */
export interface CallKey {
  callId: string;
  accountId: string;
  mode: Mode;
}

/** A call without the latencies of its responses, which no response of the API contains. */
export type WholeCall = Omit<CallDocument, 'latencies'>;

/** A call without its transcription as well. */
export type BriefCall = Omit<WholeCall, 'transcription'>;

export type CallQueries = ReturnType<typeof createCallQueries>;

/**
 * Reads the call read model. `findStatus`, `find`, `findWhole`, `readVersion`, `findDelivered` and `page` find only calls of the given account and mode. The other
 * functions do not check to which account the calls belong.
 */
export function createCallQueries(database: CallsDatabase) {
  const calls = driverCollection<CallDocument>(database, database.calls);

  return {
    /**
     * Reads the status of a call. Clients ask for it again and again, so this bypasses mongoose, whose queries took a tenth of
     * the API's time for such a request.
     */
    findStatus({ callId, ...owner }: CallKey): Promise<ShownStatus | null> {
      return calls.findOne<ShownStatus>({ _id: callId, ...owner }, { projection: { status: 1, waitingFor: 1 } });
    },

    /** Reads a call without the data that grows with it. */
    find({ callId, ...owner }: CallKey): Promise<BriefCall | null> {
      return database.calls
        .findOne({ _id: callId, ...owner }, { transcription: 0, latencies: 0 })
        .lean<BriefCall>()
        .exec();
    },

    /** Reads a call with its transcription. */
    findWhole({ callId, ...owner }: CallKey): Promise<RawDocument<WholeCall> | null> {
      return findRaw<WholeCall>(database.calls, { _id: callId, ...owner }, { latencies: 0 });
    },

    /** Reads just enough to detect whether a call has changed. */
    readVersion({ callId, ...owner }: CallKey): Promise<CallVersion | null> {
      const fields = { sequence: 1, updatedAt: 1 };
      return database.calls
        .findOne({ _id: callId, ...owner }, fields)
        .lean<CallVersion>()
        .exec();
    },

    /** Returns the current status of calls. Does not check to which account they belong. */
    async readStatuses(callIds: readonly string[]): Promise<Map<string, CallStatusFields>> {
      const found = await database.calls
        .find({ _id: { $in: [...callIds] } }, { status: 1, endReason: 1, erasedAt: 1 })
        .lean<CallStatusFields[]>()
        .exec();
      return new Map(found.map((call) => [call._id, call]));
    },

    /** Reads what the list of webhook deliveries shows of calls: one read by id, without the data that grows. */
    async findDelivered({
      callIds,
      ...owner
    }: Omit<CallKey, 'callId'> & { callIds: readonly string[] }): Promise<Map<string, DeliveredCall>> {
      const fields = { status: 1, direction: 1, fromPhoneNumber: 1, toPhoneNumber: 1, agentName: 1 };
      const found = await database.calls
        .find({ _id: { $in: [...callIds] }, ...owner }, fields)
        .lean<CallDocument[]>()
        .exec();
      return new Map(found.map((call) => [call._id, deliveredCall(call)]));
    },

    /**
     * Returns one page of the account's calls in one mode, newest first. Fields that only the detail view needs are
     * left out.
     */
    page(query: CallPageQuery): Promise<Page<CallDocument>> {
      const { search } = query.filter;
      if (search !== undefined) return readSearchPage(database, { ...query, search, fields: DETAIL_FIELDS });
      const { accountId: _accountId, mode: _mode, filter: _filter, ...position } = query;
      return readPage<CallDocument>(database.calls, {
        filter: equalFilter(query),
        fields: DETAIL_FIELDS,
        ...position,
      });
    },

    /**
     * Returns 'over' for each ended call. For each call with a forced end, returns that end in seconds after the
     * answer.
     */
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

    /** Whether a call's personal data was erased. */
    async isErased(callId: string): Promise<boolean> {
      return (await database.calls.exists({ _id: callId, erasedAt: { $exists: true } })) !== null;
    },

    /**
     * Whether a call has ended, for carrier and media routes that know only the call's id. False for an unknown call.
     */
    async isFinal(callId: string): Promise<boolean> {
      const call = await database.calls.findById(callId, { status: 1 }).lean<Pick<CallDocument, 'status'>>().exec();
      return call !== null && isFinalStatus(call.status);
    },
  };
}

function deliveredCall(call: CallDocument): DeliveredCall {
  return {
    status: call.status,
    call_direction: call.direction,
    from_phone_number: call.fromPhoneNumber ?? '',
    to_phone_number: call.toPhoneNumber ?? '',
    ...(call.agentName === undefined ? {} : { agent_name: call.agentName }),
  };
}
