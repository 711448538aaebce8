import type { VoiceDatabase } from '../database.js';
import { callIdOf } from './file-ids.js';

/** Finds calls by the age of their recording files. */
export function createOldFiles(files: VoiceDatabase['recordingFiles']) {
  return {
    /**
     * Ids of calls, or test calls, with files older than `time`, oldest first. Reads at most `limit` files.
     * @param p.from time of the first file; absent: any
     * @returns `last`: the time of the last of the files
     */
    async before(
      time: Date,
      { which, limit, from }: { which: 'all' | 'test'; limit: number; from: Date | undefined },
    ): Promise<{ callIds: string[]; last: Date | undefined }> {
      const ofTest = which === 'test' ? { test: true as const } : {};
      const uploadDate = { ...(from && { $gte: from }), $lt: time };
      const old = await files
        .find({ ...ofTest, uploadDate, forgetAfter: null }, { uploadDate: 1 })
        .sort({ uploadDate: 1 })
        .limit(limit)
        .lean<{ _id: string; uploadDate: Date }[]>();
      return { callIds: [...new Set(old.map(({ _id }) => callIdOf(_id)))], last: old.at(-1)?.uploadDate };
    },

    /** Ids of calls with unfinished files older than `time`, oldest first. Reads at most `limit` files. */
    async unfinishedBefore(time: Date, limit: number): Promise<string[]> {
      const open = await files
        .find({ open: true, uploadDate: { $lt: time } }, { _id: 1 })
        .sort({ uploadDate: 1 })
        .limit(limit)
        .lean<{ _id: string }[]>();
      return [...new Set(open.map(({ _id }) => callIdOf(_id)))];
    },
  };
}
