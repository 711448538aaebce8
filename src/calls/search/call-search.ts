import { setImmediate as nextEventLoopPass } from 'node:timers/promises';
import type { mongo } from 'mongoose';
import { CALL_STATUSES, isFinalStatus, type CallStatus } from '../../kernel/call-state.js';
import { isDuplicateKey } from '../../platform/mongo/connection.js';
import { driverCollection } from '../../platform/mongo/driver-collection.js';
import type { CallFacts } from '../call-facts.js';
import type { CallDocument } from '../call-model.js';
import type { CallsDatabase } from '../database.js';
import type { CallSearchDocument } from './model.js';
import { stepsToTerms, termsOfCall } from './search-terms.js';

const FINAL_STATUSES = CALL_STATUSES.filter(isFinalStatus);
/** The fields of a call from which its terms are made. */
const FIELDS = {
  accountId: 1,
  mode: 1,
  status: 1,
  direction: 1,
  agentId: 1,
  externalCallId: 1,
  createdAt: 1,
  erasedAt: 1,
  fromPhoneNumber: 1,
  toPhoneNumber: 1,
  transcription: 1,
} as const;
/** Calls per batch when all calls are checked. */
const BATCH_SIZE = 200;

export type CallSearch = ReturnType<typeof createCallSearch>;

/** Stores the terms under which ended calls are found. Writes can be repeated. */
export function createCallSearch(database: CallsDatabase) {
  const { calls } = database;
  const rows = driverCollection<CallSearchDocument>(database, database.callSearch);

  const readUnerased = (callId: string) =>
    calls
      .findOne({ _id: callId, status: { $in: FINAL_STATUSES }, erasedAt: { $exists: false } }, FIELDS)
      .lean<CallDocument>()
      .exec();

  async function remove(callId: string): Promise<void> {
    await rows.deleteOne({ _id: callId });
  }

  /**
   * Stores the terms of a call as it is now. Stores nothing if the call has not ended, and deletes them if it was erased: an
   * earlier attempt may have written them after the erasure and stopped.
   */
  async function store(callId: string): Promise<void> {
    const call = await readUnerased(callId);
    if (call !== null) await rows.updateOne({ _id: callId }, { $set: await documentOf(call) }, { upsert: true });
    // An erasure may have deleted the document before it was written.
    if (await calls.exists({ _id: callId, erasedAt: { $exists: true } })) await remove(callId);
  }

  /**
   * Stores the terms of a call that is about to end.
   * @returns false if terms are stored already: by an earlier attempt, which may have known more or less than this one
   */
  async function insert(
    { callId, status }: { callId: string; status?: CallStatus },
    { accountId, mode, direction, agentId, createdAt, ...found }: CallFacts,
    transcription?: string,
  ): Promise<boolean> {
    if (status === undefined) return false;
    const { externalCallId } = found;
    const call = {
      ...found,
      ...(transcription && { transcription }),
      accountId,
      mode,
      status,
      direction,
      agentId,
      externalCallId,
      createdAt,
    };
    try {
      await rows.insertOne({ _id: callId, ...(await documentOf(call)) });
      return true;
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
      return false;
    }
  }

  async function storeMissing(callIds: readonly string[]): Promise<number> {
    const known = await rows.find({ _id: { $in: [...callIds] } }, { projection: { _id: 1 } }).toArray();
    const isKnown = new Set(known.map(({ _id }) => _id));
    const missing = callIds.filter((callId) => !isKnown.has(callId));
    for (const callId of missing) await store(callId);
    return missing.length;
  }

  return {
    insert,
    store,
    /** Deletes the terms of a call; succeeds if there are none. */
    remove,

    /**
     * Stores the terms of all calls that ended before calls had them. May be interrupted, repeated, and run beside the
     * service.
     * @returns number of calls that had none
     */
    async storeAllMissing(): Promise<number> {
      const ended = { status: { $in: FINAL_STATUSES }, accountId: { $exists: true }, erasedAt: { $exists: false } };
      const cursor = (calls.collection as unknown as mongo.Collection<CallDocument>).find(ended, {
        projection: { _id: 1 },
      });
      let stored = 0;
      let batch: string[] = [];
      for await (const { _id } of cursor) {
        if (batch.push(_id) < BATCH_SIZE) continue;
        stored += await storeMissing(batch);
        batch = [];
      }
      return stored + (await storeMissing(batch));
    },
  };
}

async function documentOf(
  call: Pick<CallDocument, Exclude<keyof typeof FIELDS, 'erasedAt'>>,
): Promise<Omit<CallSearchDocument, '_id'>> {
  const { accountId, mode, status, direction, agentId, externalCallId, createdAt, transcription = '' } = call;
  const terms = [...new Set([...termsOfCall(call), ...(await termsOfWords(transcription))])];
  return { accountId, mode, status, direction, agentId, externalCallId, createdAt, terms };
}

/** Lets other work of the process continue after each piece of the transcription. */
async function termsOfWords(transcription: string): Promise<string[]> {
  const steps = stepsToTerms(transcription);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    await nextEventLoopPass();
  }
}
