import { Context } from '@temporalio/activity';
import type { RecordingRetention } from '../src/calls/recording-retention.js';
import { withHeartbeats } from './with-heartbeats.js';

/** Deletes old recordings and finishes interrupted ones, as part of each round of reconciliation. */
export function createRecordingActivities(retention: RecordingRetention) {
  return {
    sweepRecordings: (): Promise<{ deleted: number; finished: number }> =>
      withHeartbeats(async () => {
        const swept = await retention.sweep();
        Context.current()
          .metricMeter.createCounter(
            'callwright_recordings_deleted',
            'recording',
            'Recordings deleted after their retention',
          )
          .add(swept.deleted);
        return swept;
      }),
  };
}
