import type { RecordingRetention } from '../src/calls/recording-retention.js';
import type { RecordRetention } from '../src/calls/retention/record-retention.js';
import { report } from '../src/platform/telemetry/measurements.js';
import { withHeartbeats } from './with-heartbeats.js';

/**
 * Deletes old recordings and other data past its retention, and finishes interrupted recordings, as part of each round of
 * reconciliation.
 */
export function createRecordingActivities(retention: RecordingRetention, records: RecordRetention) {
  return {
    sweepRecordings: (): Promise<{ deleted: number; finished: number }> =>
      withHeartbeats(async () => {
        try {
          const swept = await retention.sweep();
          report('recordingsDeleted', { count: swept.deleted });
          return swept;
        } finally {
          // Also if a store of recordings is down.
          await records.sweep();
        }
      }),
  };
}
