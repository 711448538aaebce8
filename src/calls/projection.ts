import {
  CALL_STATUSES,
  isFinalStatus,
  type AnsweredBy,
  type CallStatus,
  type EndReason,
} from '../kernel/call-state.js';
import { isDuplicateKey } from '../platform/mongo/connection.js';
import { driverCollection, WITHOUT_UNDEFINED } from '../platform/mongo/driver-collection.js';
import { createRecentEntries } from '../platform/recent-entries.js';
import { report } from '../platform/telemetry/measurements.js';
import { lineOf } from '../telephony/web/leg.js';
import { optimisticUpdate, type UpdateDecision } from '../platform/mongo/optimistic-update.js';
import type { CallFacts } from './call-facts.js';
import type { CallsDatabase } from './database.js';
import type { CallDocument, StoredChange } from './call-model.js';
import type { CallRequestDocument } from './call-request-model.js';
import { createTombstones, TOMBSTONE_SEQUENCE } from './retention/tombstones.js';
import { createCallSearch } from './search/call-search.js';

export type CallProjection = ReturnType<typeof createCallProjection>;

/** Whether a call goes ahead. The first document written for the call decides; only `writeTombstone` replaces it. */
export type CallDecision = 'begun' | 'given_up';

/** A change of a call, to be written to its read model. Times in ms since the epoch. */
export interface ProjectedChange {
  callId: string;
  /** Number of the write, from 1. A write is dropped unless its number is higher than the stored one. */
  sequence: number;
  /** The workflow's clock at the change. */
  at: number;
  status?: CallStatus;
  endReason?: EndReason;
  answeredBy?: AnsweredBy;
  carrierSid?: string;
  /** Why an IDLE call waits. A change of status without `waitingFor` clears the stored value. */
  waitingFor?: 'dial_slot';
  /** Forced end of the call, in seconds after the answer. Null: the call has no forced end any more. */
  endsAfterSeconds?: number | null;
  startTime?: number;
  endTime?: number;
}

/** Values that replace personal data in an erased call. */
const ERASED = {
  fromPhoneNumber: '',
  toPhoneNumber: '',
  inputParameters: '{}',
  externalCallId: '',
  summary: 'The data of this call was erased.',
};

/** Ended calls that a process caches until it sends their webhook. A transcript can have some hundred kB. */
const RECENT_ENDS = { maxEntries: 50, maxAgeMs: 2_000 };

/** The fields that reports of a change need. */
const REPORTED = { _id: 1, mode: 1, direction: 1, carrierSid: 1 } as const;

/**
 * The only writer of `calls`. Writes may be repeated or late; a write applies only if its sequence number is higher.
 */
export function createCallProjection(database: CallsDatabase) {
  const calls = database.calls;
  const documents = driverCollection<CallDocument>(database, calls);
  const search = createCallSearch(database);
  const ended = createRecentEntries<CallDocument>(RECENT_ENDS);

  const find = (callId: string): Promise<CallDocument | null> => documents.findOne({ _id: callId });

  async function readDecision(callId: string): Promise<CallDecision> {
    const call = await calls.findById(callId, { accountId: 1 }).lean<Pick<CallDocument, 'accountId'>>();
    return call?.accountId === undefined ? 'given_up' : 'begun';
  }

  return {
    /**
     * Creates a call's first document. After that, the call goes ahead. Does nothing if the document or a tombstone
     * exists.
     */
    async begin(request: CallRequestDocument, change: ProjectedChange): Promise<CallDecision> {
      try {
        await documents.insertOne(createFirstDocument(request, change), WITHOUT_UNDEFINED);
        report('callBegun', { mode: request.mode, direction: request.direction });
        return 'begun';
      } catch (error) {
        if (!isDuplicateKey(error)) throw error;
        return readDecision(request._id);
      }
    },

    /** Creates the tombstone of a call that has not begun, so that the call never begins. Safe to repeat. */
    async giveUp(callId: string): Promise<CallDecision> {
      try {
        await calls.collection.insertOne({ _id: callId as never, sequence: TOMBSTONE_SEQUENCE, buriedAt: new Date() });
        return 'given_up';
      } catch (error) {
        if (!isDuplicateKey(error)) throw error;
        return readDecision(callId);
      }
    },

    /**
     * Applies a change, together with further fields, if any. A change of a final status is dropped.
     * @param end.facts the facts of a call that ends with this change, if the caller has them. This saves reads.
     * @param end.isComplete true if the workflow makes no further change before its webhook, which then needs no read
     */
    async apply(
      change: ProjectedChange,
      further: Partial<CallDocument> = {},
      { facts, isComplete }: { facts?: CallFacts | undefined; isComplete?: boolean } = {},
    ): Promise<void> {
      const isEnd = change.status !== undefined && isFinalStatus(change.status);
      // Before the final status, because only a call with a final status can be erased. So no erasure can come between.
      const isFindable = isEnd && facts !== undefined && (await search.insert(change, facts, further.transcription));
      const { callId, sequence } = change;
      const stored = await documents.findOneAndUpdate(
        { _id: callId, sequence: { $lt: sequence }, ...unlessEnded(change) },
        {
          $set: { ...changedFields(change), ...further },
          ...clearedFields(change),
          $push: { changes: createStoredChange(change) },
        },
        { ...WITHOUT_UNDEFINED, returnDocument: 'after', ...(isComplete === true ? {} : { projection: REPORTED }) },
      );
      if (stored) reportEnd(change, stored);
      if (stored && isComplete === true) ended.set(change.callId, stored);
      if (isFindable && stored) return;
      // Also if the change was applied before, because the process may have died between the two writes.
      if (isEnd || further.transcription !== undefined) await search.store(change.callId);
    },

    /**
     * Removes the personal data of a call and increments its sequence number. Times and cost stay.
     * @returns when it was erased; null when the call is unknown or has not ended
     */
    async erase(callId: string, now: Date): Promise<Date | null> {
      const decide = (call: CallDocument | null): UpdateDecision<CallDocument, Date | null> => {
        if (!call?.accountId || !isFinalStatus(call.status)) return { answer: null };
        if (call.erasedAt) return { answer: call.erasedAt };
        const sequence = call.sequence + 1;
        return {
          answer: now,
          when: { sequence: call.sequence },
          update: {
            $set: { ...ERASED, sequence, updatedAt: now, erasedAt: now },
            $unset: { agentName: '', transcription: '', outputParameters: '', hasRecording: '' },
            $push: { changes: { sequence, at: now, erased: true } },
          },
        };
      };
      await search.remove(callId);
      const erasedAt = await optimisticUpdate(documents, callId, decide, { name: 'calls' });
      // Its terms may have been stored once more until it was marked as erased.
      await search.remove(callId);
      return erasedAt;
    },

    ...createTombstones({ calls, search }),

    find,

    /** Reads an ended call, or returns it without a read, once, if this process has just completed it. */
    async takeEnded(callId: string): Promise<CallDocument | null> {
      const known = ended.get(callId);
      ended.delete(callId);
      return known ?? find(callId);
    },
  };
}

function createFirstDocument(request: CallRequestDocument, change: ProjectedChange): CallDocument {
  return {
    _id: request._id,
    accountId: request.accountId,
    mode: request.mode,
    direction: request.direction,
    fromPhoneNumber: request.fromPhoneNumber,
    toPhoneNumber: request.toPhoneNumber,
    agentId: request.agent.agentId,
    ...nameOfAgent(request),
    inputParameters: request.inputParameters,
    externalCallId: request.externalCallId,
    ...(request.microsPerSecond === undefined ? {} : { microsPerSecond: request.microsPerSecond }),
    createdAt: request.createdAt,
    status: 'RINGING',
    ...changedFields(change),
    changes: [createStoredChange({ status: 'RINGING', ...change })],
  };
}

/** The name of a stored agent or of a draft. */
function nameOfAgent({ agent }: CallRequestDocument): { agentName?: string } {
  return agent.name === undefined ? {} : { agentName: agent.name };
}

function createStoredChange(change: ProjectedChange): StoredChange {
  const { sequence, at, status, endReason, waitingFor, endsAfterSeconds } = change;
  return {
    sequence,
    at: new Date(at),
    ...(status === undefined ? {} : { status }),
    ...(endReason === undefined ? {} : { endReason }),
    ...(waitingFor === undefined ? {} : { waitingFor }),
    ...(endsAfterSeconds === undefined ? {} : { endsAfterSeconds }),
  };
}

const FINAL_STATUSES = CALL_STATUSES.filter(isFinalStatus);

/**
 * A workflow that has forgotten the end of its call, because the database of Temporal was restored to an earlier moment, must
 * not end it in another way.
 */
function unlessEnded({ status }: ProjectedChange) {
  return status === undefined ? {} : { status: { $nin: FINAL_STATUSES } };
}

function changedFields(change: ProjectedChange) {
  const { sequence, at, status, endReason, answeredBy, carrierSid, startTime, endTime } = change;
  const { waitingFor, endsAfterSeconds } = change;
  return {
    sequence,
    updatedAt: new Date(at),
    ...(status === undefined ? {} : { status }),
    ...(endReason === undefined ? {} : { endReason }),
    ...(answeredBy === undefined ? {} : { answeredBy }),
    ...(carrierSid === undefined ? {} : { carrierSid }),
    ...(waitingFor === undefined ? {} : { waitingFor }),
    ...(typeof endsAfterSeconds === 'number' ? { endsAfterSeconds } : {}),
    ...(startTime === undefined ? {} : { startTime: new Date(startTime) }),
    ...(endTime === undefined ? {} : { endTime: new Date(endTime) }),
  };
}

/** Returns the update that removes the fields which a change clears. */
function clearedFields({ status, waitingFor, endsAfterSeconds }: ProjectedChange): { $unset?: Record<string, ''> } {
  const gone: Record<string, ''> = {
    ...(status !== undefined && waitingFor === undefined ? { waitingFor: '' } : {}),
    ...(endsAfterSeconds === null ? { endsAfterSeconds: '' } : {}),
  };
  return Object.keys(gone).length === 0 ? {} : { $unset: gone };
}

/** Reports an end that was stored, so once, however often the write is repeated. */
function reportEnd(
  { status, endReason }: ProjectedChange,
  { mode, direction, carrierSid }: Pick<CallDocument, 'mode' | 'direction' | 'carrierSid'>,
): void {
  if (status !== undefined && isFinalStatus(status))
    report('callEnded', { mode, line: lineOf(carrierSid), direction, status, endReason: endReason ?? 'none' });
}
