import { driverCollection } from '../../platform/mongo/driver-collection.js';
import type { Logger } from '../../platform/telemetry/logger.js';
import { dialFieldName } from '../../telephony/destinations/dial-legs.js';
import { createPeriodCounts, type PeriodCountDocument } from '../../platform/mongo/period-counts.js';
import type { VoiceDatabase } from '../database.js';

/** Whether a recording may have this many seconds. Asked before they are stored, with growing numbers. */
export type MayStore = (seconds: number) => Promise<boolean>;

interface RecordedStream {
  accountId: string;
  callId: string;
  /** The stream number. */
  stream: number;
}

export type TestRecordingTime = ReturnType<typeof createTestRecordingTime>;

/**
 * Counts the recorded time of an account's test calls per UTC day. Test calls are free, but a minute of a recording
 * takes 0.96 MB.
 * @param p.testMinutesPerDay absent: no limit, and nothing is counted
 */
export function createTestRecordingTime(p: {
  database: VoiceDatabase;
  testMinutesPerDay: number | undefined;
  logger: Logger;
}) {
  const { database, testMinutesPerDay, logger } = p;
  const documents = driverCollection<PeriodCountDocument>(database, database.destinationCounts);
  const counts = createPeriodCounts(documents, () => new Date());

  return {
    /**
     * Returns a function that the recording of a stream calls before it stores more audio, to learn whether the account
     * has minutes left today. Undefined if there is no limit.
     */
    ofStream({ accountId, callId, stream }: RecordedStream): MayStore | undefined {
      if (testMinutesPerDay === undefined) return undefined;
      const count = { _id: `${accountId}~test~recorded~day`, period: 'day' as const, limit: testMinutesPerDay * 60 };
      const member = `${dialFieldName({ callId })}_${stream}`;
      let counted = 0;
      return async (total) => {
        const isGranted = await counts.raise({ ...count, member, total, counted });
        if (isGranted) counted = total;
        else logger.info({ callId, accountId }, 'test call not recorded further: minutes of the day used up');
        return isGranted;
      };
    },
  };
}
