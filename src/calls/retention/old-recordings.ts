import type { Logger } from '../../platform/telemetry/logger.js';
import { trySeveral } from '../../platform/try-each.js';
import type { Recordings } from '../../voice/recordings/recordings.js';
import { createOldToolCalls } from '../../voice/results/old-tool-calls.js';
import type { CallsDatabase } from '../database.js';
import type { CallProjection } from '../projection.js';
import { findReadyCalls } from './ready-calls.js';

export interface OldRecordingsDeps {
  recordings: Recordings;
  database: CallsDatabase;
  projection: CallProjection;
  logger: Logger;
}

const CALLS_AT_ONCE = 50;
/** Recordings that are deleted at once. */
const DELETED_AT_ONCE = 8;
/** Time limit of a deletion that was begun, also after the time of its step. */
const DELETION_BUDGET_MS = 10_000;

/** Calls with something old, oldest first, and the age of the last one. */
interface OldCalls {
  callIds: string[];
  last: Date | undefined;
}

/** Deletes the recordings and tool calls of old calls that are reconciled. The others wait for a later round. */
export function createOldRecordings({ recordings, database, projection, logger }: OldRecordingsDeps) {
  const oldToolCalls = createOldToolCalls(database);

  /**
   * Deletes a recording. Updates the call first, so that a crash in between cannot leave a link to a deleted recording.
   */
  async function deleteRecording(callId: string, signal: AbortSignal): Promise<void> {
    const call = await projection.find(callId);
    if (call?.hasRecording) {
      const change = { callId, sequence: call.sequence + 1, at: call.updatedAt.getTime() };
      await projection.apply(change, { hasRecording: false });
    }
    await recordings.delete(callId, { signal });
  }

  /**
   * Passes through old calls once, until the time is over.
   * @param p.find returns the first calls, or those that are as old as `from` and younger
   * @param p.work gets the calls that are ready
   */
  async function passThrough(p: {
    until: number;
    find: (from: Date | undefined) => Promise<OldCalls>;
    work: (callIds: string[]) => Promise<void>;
  }): Promise<void> {
    const seen = new Set<string>();
    let from: Date | undefined;
    while (Date.now() < p.until) {
      const { callIds, last } = await p.find(from);
      const found = callIds.filter((callId) => !seen.has(callId));
      if (found.length === 0) break;
      for (const callId of found) seen.add(callId);
      const ready = await findReadyCalls(database, found);
      await p.work(found.filter((callId) => ready.has(callId)));
      from = last;
    }
  }

  return {
    /**
     * Deletes recordings and tool calls of calls, or test calls, that are older than a time.
     * @returns number of deleted recordings
     */
    async deleteBefore(time: Date, which: 'all' | 'test', until: number): Promise<number> {
      const limit = CALLS_AT_ONCE;
      await passThrough({
        until,
        find: (from) => oldToolCalls.before(time, { which, limit, from }),
        work: (callIds) => oldToolCalls.delete(callIds),
      });
      const signal = AbortSignal.timeout(Math.max(0, until - Date.now()) + DELETION_BUDGET_MS);
      let deleted = 0;
      await passThrough({
        until,
        find: (from) => recordings.before(time, { which, limit, from }),
        async work(callIds) {
          const failed = (err: unknown, callId: string) =>
            logger.error({ err, callId }, 'expired recording could not be deleted');
          const work = (callId: string) => deleteRecording(callId, signal);
          deleted += (await trySeveral(callIds, DELETED_AT_ONCE, { until, failed, work })).length;
        },
      });
      return deleted;
    },
  };
}
