import type { RetentionDays } from '../../platform/config/retention-settings.js';
import { callIdOf } from '../../voice/recordings/file-ids.js';
import type { CallsDatabase } from '../database.js';
import type { CursorDocument } from '../reconciliation/model.js';
import { afterCursor, cursorOf } from './cursors.js';
import type { CallClass } from './expire-call.js';
import { findReadyCalls } from './ready-calls.js';

/** Days for which each class of data is kept, recordings included; 0: forever. */
export interface BacklogDays extends RetentionDays {
  recordings: number;
  testRecordings: number;
}

export const KEPT_FOREVER: BacklogDays = {
  calls: 0,
  transcripts: 0,
  deliveries: 0,
  carrierEvents: 0,
  audit: 0,
  recordings: 0,
  testRecordings: 0,
};

const DAY_MS = 24 * 3_600_000;
/** Old recordings among which one is looked for that may be deleted. */
const FILES_AT_ONCE = 50;
/** Recordings among which the oldest is looked for. Those that failed are behind the others. */
const UNJOINED_AT_ONCE = 500;

/** Reads which data past its retention the reconciler has not come to, and which recordings are not joined. */
export function createRetentionBacklog(database: CallsDatabase, days: BacklogDays) {
  const { callRequests, auditEntries, recordingFiles, reconciliationCursors } = database;

  /** Reads the age of the oldest call that the sweep of a class has not reached. */
  async function overdueCall(which: CallClass, cutoff: Date): Promise<Date | undefined> {
    const cursor = await reconciliationCursors.findById(cursorOf(which)).lean<CursorDocument>();
    const first = await callRequests
      .findOne({ createdAt: { $lte: cutoff }, ...afterCursor(cursor) }, { createdAt: 1 })
      .sort({ createdAt: 1, _id: 1 })
      .lean<{ createdAt: Date }>();
    return first?.createdAt;
  }

  async function overdueEntry(cutoff: Date): Promise<Date | undefined> {
    const first = await auditEntries
      .findOne({ createdAt: { $lt: cutoff } }, { createdAt: 1 })
      .sort({ createdAt: 1 })
      .lean<{ createdAt: Date }>();
    return first?.createdAt;
  }

  /** Those of calls that are not reconciled are kept for good reason. */
  async function overdueRecording(ofTest: { test?: true }, cutoff: Date): Promise<Date | undefined> {
    const old = await recordingFiles
      .find({ ...ofTest, uploadDate: { $lt: cutoff }, forgetAfter: null }, { uploadDate: 1 })
      .sort({ uploadDate: 1 })
      .limit(FILES_AT_ONCE)
      .lean<{ _id: string; uploadDate: Date }[]>();
    const ready = await findReadyCalls(database, [...new Set(old.map(({ _id }) => callIdOf(_id)))]);
    return old.find(({ _id }) => ready.has(callIdOf(_id)))?.uploadDate;
  }

  const readers: Record<keyof BacklogDays, (cutoff: Date) => Promise<Date | undefined>> = {
    calls: (cutoff) => overdueCall('calls', cutoff),
    transcripts: (cutoff) => overdueCall('transcripts', cutoff),
    deliveries: (cutoff) => overdueCall('deliveries', cutoff),
    carrierEvents: (cutoff) => overdueCall('carrierEvents', cutoff),
    audit: overdueEntry,
    recordings: (cutoff) => overdueRecording({}, cutoff),
    testRecordings: (cutoff) => overdueRecording({ test: true }, cutoff),
  };

  return {
    /** For each class, the time in ms since the retention of its oldest data ended; 0 if none waits. */
    async overdue(): Promise<Record<keyof BacklogDays, number>> {
      const found = { ...KEPT_FOREVER };
      for (const which of Object.keys(readers) as (keyof BacklogDays)[]) {
        if (days[which] === 0) continue;
        const cutoff = new Date(Date.now() - days[which] * DAY_MS);
        const oldest = await readers[which](cutoff);
        if (oldest !== undefined) found[which] = cutoff.getTime() - oldest.getTime();
      }
      return found;
    },

    /** The age in ms of the oldest recording whose segments in object storage are not joined; 0 if there is none. */
    async unjoined(): Promise<number> {
      const files = await recordingFiles
        .find({ joinAfter: { $gt: new Date(0) } }, { uploadDate: 1 })
        .sort({ joinAfter: 1 })
        .limit(UNJOINED_AT_ONCE)
        .lean<{ uploadDate: Date }[]>();
      return Math.max(0, ...files.map(({ uploadDate }) => Date.now() - uploadDate.getTime()));
    },
  };
}
