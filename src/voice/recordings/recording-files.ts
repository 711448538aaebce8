import { driverCollection } from '../../platform/mongo/driver-collection.js';
import { setImmediate as nextEventLoopPass } from 'node:timers/promises';
import type mongoose from 'mongoose';
import { MAX_STREAM_NUMBER } from '../../kernel/resumption.js';
import type { VoiceDatabase } from '../database.js';
import type { RecordingChunkDocument, RecordingFileDocument } from './model.js';

/** Chunks that a reader of a whole file holds at once: 1 MB. */
const CHUNKS_AT_ONCE = 32;

export type RecordingFiles = ReturnType<typeof createRecordingFiles>;

/**
 * Reads and deletes the stored recording files and their chunks, and sets the length of unfinished files. Each media
 * stream of a call has one file.
 */
export function createRecordingFiles(database: VoiceDatabase) {
  const files = database.recordingFiles;
  const chunks = driverCollection<RecordingChunkDocument>(database, database.recordingChunks);

  return {
    files,
    chunks,

    /** The call's files, ordered by stream number. */
    async of(callId: string): Promise<RecordingFileDocument[]> {
      const ids = possibleFiles(callId);
      const found = await files.find({ _id: { $in: ids } }).lean<RecordingFileDocument[]>();
      return found.toSorted((a, b) => ids.indexOf(a._id) - ids.indexOf(b._id));
    },

    /**
     * Reads a file chunk by chunk, from the byte `from` to the end of its first `bytes`.
     * @throws Error if a chunk is missing
     */
    async *read(
      { _id: id, chunkSize }: RecordingFileDocument,
      bytes: number,
      from: number,
    ): AsyncGenerator<Uint8Array> {
      let at = from;
      while (at < bytes) {
        const n = Math.floor(at / chunkSize);
        const chunk = await chunks.findOne({ _id: chunkId(id, n) });
        if (chunk === null) throw new Error(`The recording ${id} lacks chunk ${n}.`);
        const data = chunk.data.value().subarray(at - n * chunkSize, bytes - n * chunkSize);
        if (data.length === 0) throw new Error(`Chunk ${n} of the recording ${id} is too short.`);
        at += data.length;
        yield data;
      }
    },

    /**
     * Reads the first `bytes` of a file with few commands, for work that needs the whole file.
     * @throws Error if a chunk is missing; the reason of the signal
     */
    async *readWhole(file: RecordingFileDocument, bytes: number, signal: AbortSignal): AsyncGenerator<Uint8Array> {
      const { _id: id, chunkSize } = file;
      const count = Math.ceil(bytes / chunkSize);
      for (let first = 0; first < count; first += CHUNKS_AT_ONCE) {
        signal.throwIfAborted();
        const numbers = Array.from({ length: Math.min(CHUNKS_AT_ONCE, count - first) }, (_, index) => first + index);
        const found = await chunks.find({ _id: { $in: numbers.map((n) => chunkId(id, n)) } }).toArray();
        const byNumber = new Map(found.map((chunk) => [chunk.n, chunk]));
        for (const n of numbers) {
          const chunk = byNumber.get(n);
          if (chunk === undefined) throw new Error(`The recording ${id} lacks chunk ${n}.`);
          yield chunk.data.value().subarray(0, bytes - n * chunkSize);
        }
        await nextEventLoopPass();
      }
    },

    /** Sets the length of an unfinished file to the bytes stored so far. */
    async seal(file: RecordingFileDocument): Promise<void> {
      const stored = await chunks.countDocuments(chunksOf(file._id));
      // Only the last chunk can be short.
      const last = await chunks.findOne({ _id: chunkId(file._id, stored - 1) });
      const length = last === null ? 0 : (stored - 1) * file.chunkSize + last.data.length();
      const sealed = { $set: { length }, $unset: { open: '' } };
      // If the process that writes the file has closed it meanwhile, keep its length.
      await files.updateOne({ _id: file._id, open: true }, sealed);
    },

    /** Deletes all files that a call can have, and chunks that arrived after their file was deleted. */
    async deleteOf(callId: string): Promise<void> {
      for (const id of possibleFiles(callId)) {
        // Delete the document last: if a sweep is interrupted, the next one still finds the chunks.
        await chunks.deleteMany(chunksOf(id));
        await files.deleteOne({ _id: id });
      }
    },
  };
}

/**
 * Filter for the chunks of a file. The range of ids includes chunks that arrive after the length of the file was set.
 */
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
