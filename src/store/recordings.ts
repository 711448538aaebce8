import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import mongoose from 'mongoose';
import { WAV_HEADER_BYTES, wavHeader } from '../audio/wav.js';
import type { Database } from './database.js';
import { isDuplicateKey } from './database.js';

const FORMAT = { sampleRate: 8_000, channels: 2 };
/** GridFS's usual chunk: eight seconds of a recording. */
const CHUNK_BYTES = 255 * 1_024;
/** How long writes are repeated while the database is away, from the first failure of a chunk. */
const GIVE_UP_AFTER_MS = 120_000;
const LONGEST_PAUSE_MS = 5_000;

interface FileDocument {
  _id: string;
  length: number;
  chunkSize: number;
  uploadDate: Date;
  filename: string;
  metadata: { contentType: 'audio/wav' };
}

/** `_id` is `<call id>:<n>`: a repeated write cannot double a chunk, and no server needs a further index to find it. */
interface ChunkDocument {
  _id: string;
  files_id: string;
  n: number;
  data: mongoose.mongo.Binary;
}

export interface RecordingWriter {
  /** Takes interleaved little-endian 16-bit PCM, left the caller, right the agent. Never waits. */
  write(pcm: Buffer): void;
  /** Writes the rest. @throws the database's error when it stayed away too long, and the recording is then not kept */
  close(): Promise<void>;
}

export type Recordings = ReturnType<typeof createRecordings>;

/**
 * Recordings in the layout of GridFS, bucket `recordings`. The PCM is kept without a header: its length is known only at
 * the end, so the WAV header is made when it is read. The file's own document is written last, so that a recording
 * exists only when it is whole.
 */
export function createRecordings(database: Database, options: { giveUpAfterMs?: number } = {}) {
  const files = database.connection.collection<FileDocument>('recordings.files');
  const chunks = database.connection.collection<ChunkDocument>('recordings.chunks');
  const giveUpAfterMs = options.giveUpAfterMs ?? GIVE_UP_AFTER_MS;

  async function* pcmOf(file: FileDocument): AsyncGenerator<Buffer> {
    yield wavHeader({ ...FORMAT, dataBytes: file.length });
    for (let n = 0; n < chunkCount(file); n++) {
      const chunk = await chunks.findOne({ _id: chunkId(file._id, n) });
      if (chunk === null) throw new Error(`The recording of ${file._id} has lost chunk ${n}.`);
      yield Buffer.from(chunk.data.value());
    }
  }

  return {
    /** Begins the recording of a call; bytes are written behind, in order. */
    open(callId: string): RecordingWriter {
      /** The chunk that is being filled. */
      let chunk: Buffer | undefined;
      let filled = 0;
      let count = 0;
      let length = 0;
      let written: Promise<void> = Promise.resolve();

      function flush(): void {
        if (chunk === undefined) return;
        const data = new mongoose.mongo.Binary(chunk.subarray(0, filled));
        const document = { _id: chunkId(callId, count), files_id: callId, n: count, data };
        chunk = undefined;
        filled = 0;
        count += 1;
        written = written.then(() => insertOnce(() => chunks.insertOne(document), giveUpAfterMs));
        // Reported by close; until then a failure must not be an unhandled one.
        written.catch(() => undefined);
      }

      return {
        write(pcm) {
          length += pcm.length;
          for (let at = 0; at < pcm.length;) {
            chunk ??= Buffer.allocUnsafeSlow(CHUNK_BYTES);
            const copied = pcm.copy(chunk, filled, at);
            filled += copied;
            at += copied;
            if (filled === CHUNK_BYTES) flush();
          }
        },
        async close() {
          flush();
          await written;
          const file: FileDocument = {
            _id: callId,
            length,
            chunkSize: CHUNK_BYTES,
            uploadDate: new Date(),
            filename: `${callId}.wav`,
            metadata: { contentType: 'audio/wav' },
          };
          await insertOnce(() => files.insertOne(file), giveUpAfterMs);
        },
      };
    },

    /** The recording as a WAV file and its size in bytes; null when there is none. */
    async read(callId: string): Promise<{ stream: Readable; bytes: number } | null> {
      const file = await files.findOne({ _id: callId });
      if (file === null) return null;
      return { stream: Readable.from(pcmOf(file), { objectMode: false }), bytes: file.length + WAV_HEADER_BYTES };
    },

    /** Removes a recording; none is a success. */
    async delete(callId: string): Promise<void> {
      const file = await files.findOne({ _id: callId });
      if (file === null) return;
      const ids = Array.from({ length: chunkCount(file) }, (_, n) => chunkId(callId, n));
      await chunks.deleteMany({ _id: { $in: ids } });
      await files.deleteOne({ _id: callId });
    },
  };
}

function chunkId(callId: string, n: number): string {
  return `${callId}:${n}`;
}

function chunkCount(file: FileDocument): number {
  return Math.ceil(file.length / file.chunkSize);
}

async function insertOnce(insert: () => Promise<unknown>, giveUpAfterMs: number): Promise<void> {
  const giveUpAt = performance.now() + giveUpAfterMs;
  for (let pauseMs = 100; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    try {
      await insert();
      return;
    } catch (error) {
      if (isDuplicateKey(error)) return;
      if (performance.now() + pauseMs > giveUpAt) throw error;
    }
    await sleep(pauseMs);
  }
}
