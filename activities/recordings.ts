import { Context } from '@temporalio/activity';
import type { CallProjection } from '../src/calls/projection.js';
import type { Recordings } from '../src/voice/recordings/recordings.js';
import type { Logger } from '../src/platform/telemetry/logger.js';
import { tryEach } from '../src/platform/try-each.js';
import { whileBeating } from './while-beating.js';

interface Deps {
  recordings: Recordings;
  projection: CallProjection;
  logger: Logger;
  /** 0: recordings are never deleted. */
  retentionDays: number;
  /** For test calls; 0: the same as for others. */
  testRetentionDays: number;
}

const DAY_MS = 24 * 60 * 60_000;
/** No call lasts this long, so the process that wrote a still unfinished recording must have crashed. */
const UNFINISHED_AFTER_MS = 6 * 60 * 60_000;
/** What one round does not finish, the next one continues. */
const STEP_BUDGET_MS = 15_000;
const CALLS_AT_ONCE = 50;

/** Deletes and finishes recordings, as part of each round of reconciliation. */
export function createRecordingActivities({ recordings, projection, logger, retentionDays, testRetentionDays }: Deps) {
  /**
   * Deletes a recording. Updates the call first, so that a crash in between cannot leave a link to a deleted recording.
   */
  async function forget(callId: string): Promise<void> {
    const call = await projection.find(callId);
    if (call?.hasRecording) {
      const change = { callId, sequence: call.sequence + 1, at: call.updatedAt.getTime() };
      await projection.apply(change, { hasRecording: false });
    }
    await recordings.delete(callId);
  }

  async function forgetOlder(days: number, which: 'all' | 'test', until: number): Promise<number> {
    const oldest = new Date(Date.now() - days * DAY_MS);
    const left = new Set<string>();
    const failed = (err: unknown, callId: string) => {
      left.add(callId);
      logger.error({ err, callId }, 'a recording past its retention could not be deleted');
    };
    let deleted = 0;
    while (days > 0 && Date.now() < until) {
      const found = await recordings.callsBefore(oldest, CALLS_AT_ONCE + left.size, which);
      const callIds = found.filter((callId) => !left.has(callId));
      if (callIds.length === 0) break;
      deleted += (await tryEach(callIds, { until, failed, work: forget })).length;
    }
    return deleted;
  }

  /** Finishes recordings whose process crashed. @returns number of finished recordings */
  async function finish(until: number): Promise<number> {
    const callIds = await recordings.unfinishedBefore(new Date(Date.now() - UNFINISHED_AFTER_MS), CALLS_AT_ONCE);
    const failed = (err: unknown, callId: string) =>
      logger.error({ err, callId }, 'a recording that nobody finished could not be finished');
    return (await tryEach(callIds, { until, failed, work: (callId) => recordings.seal(callId) })).length;
  }

  async function sweep(): Promise<{ deleted: number; finished: number }> {
    const deadline = Date.now() + STEP_BUDGET_MS;
    const finished = await finish(deadline);
    let deleted = await forgetOlder(retentionDays, 'all', deadline);
    deleted += await forgetOlder(testRetentionDays, 'test', deadline);
    if (deleted > 0) logger.info({ deleted }, 'recordings past their retention were deleted');
    Context.current()
      .metricMeter.createCounter(
        'callwright_recordings_deleted',
        'recording',
        'Recordings deleted after their retention',
      )
      .add(deleted);
    return { deleted, finished };
  }

  return {
    /** Deletes recordings past their retention, and finishes those whose process crashed. */
    sweepRecordings: (): Promise<{ deleted: number; finished: number }> => whileBeating(sweep),
  };
}
