import { WRITTEN_WITHIN_MS } from '../voice/recordings/model.js';
import { callIdOf } from '../voice/recordings/file-ids.js';
import { tryEach, trySeveral } from '../platform/try-each.js';
import { createOldRecordings, type OldRecordingsDeps } from './retention/old-recordings.js';

interface Deps extends OldRecordingsDeps {
  /** Days after which recordings and tool calls are deleted; 0: never. */
  retentionDays: number;
  /** Days after which those of test calls are deleted; 0: the same as for live calls. */
  testRetentionDays: number;
}

const DAY_MS = 24 * 60 * 60_000;
/** Time limits of the steps of one round; the next round continues. Comparing money waits for the round's end. */
const STEP_BUDGET_MS = 15_000;
const FORGET_BUDGET_MS = 10_000;
const JOIN_BUDGET_MS = 15_000;
const CALLS_AT_ONCE = 50;
/** Recordings that are joined at once. Each takes 5 MB of memory. */
const JOINS_AT_ONCE = 4;
const FORGOTTEN_AT_ONCE = 8;

export type RecordingRetention = ReturnType<typeof createRecordingRetention>;

/**
 * Deletes old recordings and the tool calls of old calls, finishes interrupted recordings, and tidies object storage.
 */
export function createRecordingRetention(deps: Deps) {
  const { recordings, logger, retentionDays, testRetentionDays } = deps;
  const { upkeep } = recordings;
  const oldRecordings = createOldRecordings(deps);

  async function deleteOlder(days: number, which: 'all' | 'test', until: number): Promise<number> {
    if (days === 0) return 0;
    return oldRecordings.deleteBefore(new Date(Date.now() - days * DAY_MS), which, until);
  }

  /**
   * Finishes recordings whose media process crashed. One that fails is left for the next round.
   * @returns number of finished recordings
   */
  async function finish(until: number): Promise<number> {
    const oldest = new Date(Date.now() - WRITTEN_WITHIN_MS);
    const left = new Set<string>();
    const failed = (err: unknown, callId: string) => {
      left.add(callId);
      logger.error({ err, callId }, 'unfinished recording could not be sealed');
    };
    let done = 0;
    while (Date.now() < until) {
      const found = await recordings.unfinishedBefore(oldest, CALLS_AT_ONCE + left.size);
      const callIds = found.filter((callId) => !left.has(callId));
      if (callIds.length === 0) break;
      done += (await tryEach(callIds, { until, failed, work: (callId) => recordings.seal(callId) })).length;
    }
    return done;
  }

  /**
   * Joins the segments of recordings in object storage. One that fails is tried again later, and one that takes longer is
   * continued in the next round.
   */
  async function join(until: number): Promise<void> {
    const over = AbortSignal.timeout(Math.max(0, until - Date.now()));
    const failed = async (err: unknown, { _id }: { _id: string }) => {
      if (over.aborted) return;
      logger.error({ err, callId: callIdOf(_id), recording: _id }, 'segments of a recording could not be joined');
      await upkeep.postpone(_id, 'joinAfter');
    };
    while (Date.now() < until) {
      const found = await upkeep.toJoin(CALLS_AT_ONCE);
      if (found.length === 0) break;
      await trySeveral(found, JOINS_AT_ONCE, { until, failed, work: (file) => upkeep.join(file, over) });
    }
  }

  /** Deletes what arrived in object storage after a recording was deleted. */
  async function forget(until: number): Promise<void> {
    const failed = async (err: unknown, callId: string) => {
      logger.error({ err, callId }, 'remains of a deleted recording could not be deleted');
      await upkeep.postpone(callId, 'forgetAfter');
    };
    while (Date.now() < until) {
      const callIds = await upkeep.toForget(CALLS_AT_ONCE);
      if (callIds.length === 0) break;
      await trySeveral(callIds, FORGOTTEN_AT_ONCE, { until, failed, work: (callId) => upkeep.forget(callId) });
    }
  }

  return {
    /**
     * Deletes recordings and tool calls past their retention, finishes recordings whose media process crashed, and tidies
     * object storage, for a limited time; the next round continues.
     */
    async sweep(): Promise<{ deleted: number; finished: number }> {
      const deadline = Date.now() + STEP_BUDGET_MS;
      const finished = await finish(deadline);
      let deleted = await deleteOlder(retentionDays, 'all', deadline);
      deleted += await deleteOlder(testRetentionDays, 'test', deadline);
      await forget(Date.now() + FORGET_BUDGET_MS);
      await join(Date.now() + JOIN_BUDGET_MS);
      if (deleted > 0) logger.info({ deleted }, 'expired recordings deleted');
      return { deleted, finished };
    },
  };
}
