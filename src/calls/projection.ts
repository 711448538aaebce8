import { isFinalStatus, type AnsweredBy, type CallStatus, type EndReason } from '../kernel/call-state.js';
import type { mongo } from 'mongoose';
import { isDuplicateKey } from '../platform/mongo/connection.js';
import { optimisticUpdate, type UpdateDecision } from '../platform/mongo/optimistic-update.js';
import type { CallsDatabase } from './database.js';
import type { CallDocument, StoredChange } from './call-model.js';
import type { CallRequestDocument } from './call-request-model.js';

export type CallProjection = ReturnType<typeof createCallProjection>;

/** Whether a call goes ahead. The first document of a call decides, and only `bury` replaces it. */
export type CallDecision = 'begun' | 'given_up';

/** A change of the call as its workflow tells it: ids, times in ms and seconds. */
export interface ProjectedChange {
  callId: string;
  /** The workflow's own count of its writes, from 1; a write that is not newer than what stands is dropped. */
  sequence: number;
  /** The workflow's time of the change, ms. */
  at: number;
  status?: CallStatus;
  endReason?: EndReason;
  answeredBy?: AnsweredBy;
  carrierSid?: string;
  /** Why an IDLE call waits; every other status takes it away. */
  waitingFor?: 'dial_slot';
  /** When the talk will be ended, in seconds from the answer; null: not any more. */
  endsAfterSeconds?: number | null;
  startTime?: number;
  endTime?: number;
}

/** What stands in an erased call where something personal stood. */
const ERASED = {
  fromPhoneNumber: '',
  toPhoneNumber: '',
  inputParameters: '{}',
  externalCallId: '',
  summary: 'The data of this call was erased.',
};

/** Sequence of an expired call's tombstone: above any that a workflow counts to. */
const TOMBSTONE_SEQUENCE = Number.MAX_SAFE_INTEGER;

/** The only writer of `calls`. Each write may be repeated or come late: the sequence decides. */
export function createCallProjection(database: CallsDatabase) {
  const calls = database.calls;

  async function decisionOn(callId: string): Promise<CallDecision> {
    const call = await calls.findById(callId, { accountId: 1 }).lean<Pick<CallDocument, 'accountId'>>();
    return call?.accountId === undefined ? 'given_up' : 'begun';
  }

  return {
    /**
     * Makes the read model's first document of a call, after which the call goes ahead. A repeat, or a tombstone that came
     * first, leaves it as it is.
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

    /** Makes the tombstone of a call that has not begun, so that it never begins. May be repeated. */
    async giveUp(callId: string): Promise<CallDecision> {
      try {
        await calls.collection.insertOne({ _id: callId as never, sequence: TOMBSTONE_SEQUENCE, buriedAt: new Date() });
        return 'given_up';
      } catch (error) {
        if (!isDuplicateKey(error)) throw error;
        return decisionOn(callId);
      }
    },

    /** Applies a change, with whatever further fields the writer has for it. */
    async apply(change: ProjectedChange, further: Partial<CallDocument> = {}): Promise<void> {
      await calls.updateOne(
        { _id: change.callId, sequence: { $lt: change.sequence } },
        { $set: { ...fieldsOf(change), ...further }, ...goneWith(change), $push: { changes: storedChange(change) } },
      );
    },

    /**
     * Takes everything personal out of a call, with its next sequence; what happened when, and what it cost, stays.
     * @returns when it was erased; null when the call is unknown or has not ended
     */
    async erase(callId: string, now: Date): Promise<Date | null> {
      // The driver's own collection: what stands is read and written as it is.
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

    /** Takes an expired call out of everybody's sight and keeps a late first write from bringing it back. */
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

/** What a change takes out of the document. */
function goneWith({ status, waitingFor, endsAfterSeconds }: ProjectedChange): { $unset?: Record<string, ''> } {
  const gone: Record<string, ''> = {
    ...(status !== undefined && waitingFor === undefined ? { waitingFor: '' } : {}),
    ...(endsAfterSeconds === null ? { endsAfterSeconds: '' } : {}),
  };
  return Object.keys(gone).length === 0 ? {} : { $unset: gone };
}
