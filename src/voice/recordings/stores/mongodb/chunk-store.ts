import mongoose from 'mongoose';
import { setImmediate as nextEventLoopPass } from 'node:timers/promises';
import { driverCollection } from '../../../../platform/mongo/driver-collection.js';
import { isDuplicateKey } from '../../../../platform/mongo/connection.js';
import type { VoiceDatabase } from '../../../database.js';
import type { RecordingChunkDocument, RecordingFileDocument } from '../../model.js';
import type { ChunkStore, Part, ReadOptions, StoredSegment } from '../port.js';

/** Size of a chunk: two seconds of a recording. */
const CHUNK_BYTES = 32_000;
/**
 * After how many chunks the store looks whether their file was deleted: ten seconds, the size of an object. A lookup per
 * chunk would be half of the commands of a recording.
 */
const CHUNKS_PER_LOOKUP = 5;
/** Chunks that a reader in bulk holds at once: 1 MB. */
const CHUNKS_IN_BULK = 32;

/** Stores audio in MongoDB, as the chunks of GridFS files. */
export function createChunkStore(database: VoiceDatabase): ChunkStore {
  const files = driverCollection<RecordingFileDocument>(database, database.recordingFiles);
  const chunks = driverCollection<RecordingChunkDocument>(database, database.recordingChunks);

  async function put({ file, n, data }: StoredSegment): Promise<boolean> {
    const _id = chunkId(file, n);
    await chunks
      .insertOne({ _id, files_id: file, n, data: new mongoose.mongo.Binary(data) })
      .catch((error: unknown) => {
        // An earlier attempt succeeded.
        if (!isDuplicateKey(error)) throw error;
      });
    if (n % CHUNKS_PER_LOOKUP > 0) return true;
    // Afterwards, because the file may be deleted at any time.
    if ((await files.findOne({ _id: file, forgetAfter: { $exists: false } }, { projection: { _id: 1 } })) !== null)
      return true;
    await chunks.deleteMany(chunksOf(file));
    return false;
  }

  async function* read(file: RecordingFileDocument, { from, to }: Part, { signal, inBulk }: ReadOptions) {
    const { _id: id, chunkSize } = file;
    const count = Math.ceil(to / chunkSize);
    const atOnce = inBulk === true ? CHUNKS_IN_BULK : 1;
    for (let first = Math.floor(from / chunkSize); first < count; first += atOnce) {
      signal.throwIfAborted();
      const numbers = Array.from({ length: Math.min(atOnce, count - first) }, (_, index) => first + index);
      const found = await chunks.find({ _id: { $in: numbers.map((n) => chunkId(id, n)) } }).toArray();
      const byNumber = new Map(found.map((chunk) => [chunk.n, chunk]));
      for (const n of numbers) {
        const chunk = byNumber.get(n);
        if (chunk === undefined) throw new Error(`The recording ${id} lacks chunk ${n}.`);
        const start = n * chunkSize;
        const data = chunk.data.value().subarray(Math.max(0, from - start), to - start);
        if (data.length < Math.min(to, start + chunkSize) - Math.max(from, start)) {
          throw new Error(`Chunk ${n} of the recording ${id} is too short.`);
        }
        yield data;
      }
      if (inBulk === true) await nextEventLoopPass();
    }
  }

  return {
    segmentBytes: CHUNK_BYTES,
    place: () => ({}),
    put,
    read,

    async storedBytes(file) {
      const stored = await chunks.countDocuments(chunksOf(file._id));
      // Only the last chunk can be short.
      const last = await chunks.findOne({ _id: chunkId(file._id, stored - 1) });
      return last === null ? 0 : (stored - 1) * file.chunkSize + last.data.length();
    },

    async list(callId) {
      const names: string[] = [];
      for (const range of chunksOfCall(callId)) {
        for (const { _id } of await chunks.find(range, { projection: { _id: 1 } }).toArray()) names.push(_id);
      }
      return names;
    },

    async delete(callId) {
      for (const range of chunksOfCall(callId)) await chunks.deleteMany(range);
    },
  };
}

/**
 * Filter for the chunks of a file. The range of ids includes chunks that arrive after the length of the file was set.
 */
function chunksOf(id: string): mongoose.mongo.Filter<RecordingChunkDocument> {
  return { _id: { $gte: `${id}:`, $lt: `${id};` } };
}

/** Filters for the chunks of all files that a call can have: its first, and those with a number. */
function chunksOfCall(callId: string): mongoose.mongo.Filter<RecordingChunkDocument>[] {
  return [chunksOf(callId), { _id: { $gte: `${callId}.`, $lt: `${callId}/` } }];
}

function chunkId(id: string, n: number): string {
  return `${id}:${n}`;
}
