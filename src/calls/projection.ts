import { isFinalStatus, type AnsweredBy, type CallStatus, type EndReason } from '../kernel/call-state.js';
import type { mongo } from 'mongoose';
import { isDuplicateKey } from '../platform/mongo/connection.js';
import { optimisticUpdate, type UpdateDecision } from '../platform/mongo/optimistic-update.js';
import type { CallsDatabase } from './database.js';
import type { CallDocument, StoredChange } from './call-model.js';
import type { CallRequestDocument } from './call-request-model.js';

export type CallProjection = ReturnType<typeof createCallProjection>;

/** Whether a call goes ahead. The call's first document decides, and only `bury` replaces that. */
export type CallDecision = 'begun' | 'given_up';

/** A change of a call to write to its read model. Times in ms since the epoch. */
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
  /** Why an IDLE call waits; a change of status without it clears it. */
  waitingFor?: 'dial_slot';
  /** When the call will be forced to end, in seconds after the answer; null: no longer. */
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

/** Sequence of a tombstone: higher than any workflow reaches. */
const TOMBSTONE_SEQUENCE = Number.MAX_SAFE_INTEGER;

/** The only writer of `calls`. Writes may be repeated or late; the sequence number decides which one applies. */
export function createCallProjection(database: CallsDatabase) {
  const calls = database.calls;

  async function decisionOn(callId: string): Promise<CallDecision> {
    const call = await calls.findById(callId, { accountId: 1 }).lean<Pick<CallDocument, 'accountId'>>();
    return call?.accountId === undefined ? 'given_up' : 'begun';
  }

  return {
    /**
     * Creates a call's first document, after which the call goes ahead. Does nothing if the document, or a tombstone,
     * already exists.
     */
    async begin(request: CallRequestDocument, change: ProjectedChange): Promise<CallDecision> {
      try {
        await calls.create(firstDocument(request, change));
        return 'begun';
      } catch (error) {
        if (!isDuplicateKey(error)) throw error;
        return decisionOn(request._id);
      }
    },

    /** Creates the tombstone of a call that has not begun, so that it never begins. Safe to repeat. */
    async giveUp(callId: string): Promise<CallDecision> {
      try {
        await calls.collection.insertOne({ _id: callId as never, sequence: TOMBSTONE_SEQUENCE, buriedAt: new Date() });
        return 'given_up';
      } catch (error) {
        if (!isDuplicateKey(error)) throw error;
        return decisionOn(callId);
      }
    },

    /** Applies a change, together with any further fields. */
    async apply(change: ProjectedChange, further: Partial<CallDocument> = {}): Promise<void> {
      await calls.updateOne(
        { _id: change.callId, sequence: { $lt: change.sequence } },
        { $set: { ...fieldsOf(change), ...further }, ...goneWith(change), $push: { changes: storedChange(change) } },
      );
    },

    /**
     * Removes the personal data of a call, with its next sequence number. Times and cost stay.
     * @returns when it was erased; null when the call is unknown or has not ended
     */
    async erase(callId: string, now: Date): Promise<Date | null> {
      // The driver's collection reads and writes the documents without Mongoose's conversions.
      const documents = calls.collection as unknown as mongo.Collection<CallDocument>;
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
      return optimisticUpdate(documents, callId, decide, { name: 'calls' });
    },

    /** Replaces the call with a tombstone: no account finds it, and a late first write cannot recreate it. */
    async bury(callId: string): Promise<void> {
      await calls.collection.replaceOne(
        { _id: callId as never },
        { sequence: TOMBSTONE_SEQUENCE, buriedAt: new Date() },
        { upsert: true },
      );
    },

    find: (callId: string): Promise<CallDocument | null> => calls.findById(callId).lean<CallDocument>().exec(),
  };
}

function firstDocument(request: CallRequestDocument, change: ProjectedChange): CallDocument {
  return {
    _id: request._id,
    accountId: request.accountId,
    mode: request.mode,
    direction: request.direction,
    fromPhoneNumber: request.fromPhoneNumber,
    toPhoneNumber: request.toPhoneNumber,
    agentId: request.agent.agentId,
    ...(request.agent.name === undefined ? {} : { agentName: request.agent.name }),
    inputParameters: request.inputParameters,
    externalCallId: request.externalCallId,
    ...(request.microsPerSecond === undefined ? {} : { microsPerSecond: request.microsPerSecond }),
    createdAt: request.createdAt,
    status: 'RINGING',
    ...fieldsOf(change),
    changes: [storedChange({ status: 'RINGING', ...change })],
  };
}

function storedChange(change: ProjectedChange): StoredChange {
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

function fieldsOf(change: ProjectedChange) {
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

/** The fields that a change removes from the document. */
function goneWith({ status, waitingFor, endsAfterSeconds }: ProjectedChange): { $unset?: Record<string, ''> } {
  const gone: Record<string, ''> = {
    ...(status !== undefined && waitingFor === undefined ? { waitingFor: '' } : {}),
    ...(endsAfterSeconds === null ? { endsAfterSeconds: '' } : {}),
  };
  return Object.keys(gone).length === 0 ? {} : { $unset: gone };
}
