import type { RecordingRetention } from '../src/calls/recording-retention.js';
import { report } from '../src/platform/telemetry/measurements.js';
import { withHeartbeats } from './with-heartbeats.js';

/** Deletes old recordings and finishes interrupted ones, as part of each round of reconciliation. */
export function createRecordingActivities(retention: RecordingRetention) {
  return {
    sweepRecordings: (): Promise<{ deleted: number; finished: number }> =>
      withHeartbeats(async () => {
        const swept = await retention.sweep();
        report('recordingsDeleted', { count: swept.deleted });
        return swept;
      }),
  };
}
