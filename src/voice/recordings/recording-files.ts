import type mongoose from 'mongoose';
import { MAX_STREAM_NUMBER } from '../../kernel/resumption.js';
import type { VoiceDatabase } from '../database.js';
import type { RecordingChunkDocument, RecordingFileDocument } from './model.js';

export type RecordingFiles = ReturnType<typeof createRecordingFiles>;

/** The files of recordings and their chunks: one file for each stream of a call. */
export function createRecordingFiles(database: VoiceDatabase) {
  const files = database.recordingFiles;
  const chunks = database.connection.collection<RecordingChunkDocument>('recordings.chunks');

  return {
    files,
    chunks,

    /** The call's files in the order of its streams. */
    async of(callId: string): Promise<RecordingFileDocument[]> {
      const ids = possibleFiles(callId);
      const found = await files.find({ _id: { $in: ids } }).lean<RecordingFileDocument[]>();
      return found.toSorted((a, b) => ids.indexOf(a._id) - ids.indexOf(b._id));
    },

    /** The first bytes of a file, chunk by chunk. @throws when one of its chunks is missing */
    async *read(id: string, bytes: number): AsyncGenerator<Uint8Array> {
      let left = bytes;
      for (let n = 0; left > 0; n++) {
        const chunk = await chunks.findOne({ _id: chunkId(id, n) });
        if (chunk === null) throw new Error(`The recording ${id} has lost chunk ${n}.`);
        const data = chunk.data.value().subarray(0, left);
        left -= data.length;
        yield data;
      }
    },

    /** Gives a file that nobody finished the length of what is stored of it. */
    async seal(file: RecordingFileDocument): Promise<void> {
      const stored = await chunks.countDocuments(chunksOf(file._id));
      // Only the last one may be short.
      const last = await chunks.findOne({ _id: chunkId(file._id, stored - 1) });
      const length = last === null ? 0 : (stored - 1) * file.chunkSize + last.data.length();
      const sealed = { $set: { length }, $unset: { open: '' } };
      // Its own process may close it in this moment, with the whole length.
      await files.updateOne({ _id: file._id, open: true }, sealed);
    },

    /** Removes all files that a call may have, also chunks that came after their file was removed. */
    async deleteOf(callId: string): Promise<void> {
      for (const id of possibleFiles(callId)) {
        // The document goes last: while there is one, a sweep that was cut off finds the chunks again.
        await chunks.deleteMany(chunksOf(id));
        await files.deleteOne({ _id: id });
      }
    },
  };
}

/** By their range of ids, so that also one that came after the file was sealed is met. */
function chunksOf(id: string): mongoose.mongo.Filter<RecordingChunkDocument> {
  return { _id: { $gte: `${id}:`, $lt: `${id};` } };
}

function possibleFiles(callId: string): string[] {
  return Array.from({ length: MAX_STREAM_NUMBER + 1 }, (_, stream) => fileId(callId, stream));
}

export function fileId(callId: string, stream: number): string {
  return stream === 0 ? callId : `${callId}.${stream}`;
}

export function callIdOf(id: string): string {
  return id.replace(/\.\d+$/, '');
}

export function chunkId(id: string, n: number): string {
  return `${id}:${n}`;
}
