import { setTimeout as sleep } from 'node:timers/promises';
import mongoose from 'mongoose';
import type { VoiceDatabase } from '../database.js';
import { isDuplicateKey } from '../../platform/mongo/connection.js';
import type { RecordingChunkDocument } from './model.js';
import type { MayStore } from './test-recording-time.js';

/** Size of a chunk: two seconds of a recording, which is the most that is lost if the process dies. */
const CHUNK_BYTES = 32_000;
const CHUNK_SECONDS = 2;
/** How many chunks are asked for at once where the length of recordings is limited. */
const CHUNKS_PER_REQUEST = 5;
const LONGEST_PAUSE_MS = 5_000;
/** Maximum unwritten chunks: two minutes of audio. Without a limit, a slow database would let memory grow. */
const MAX_WAITING_CHUNKS = 60;
/** Maximum unused chunk buffers, enough for a process with several hundred calls. */
const MAX_FREE_CHUNKS = 512;

export interface RecordingWriter {
  /** Copies mu-law bytes of both tracks, interleaved: left the caller, right the agent. Never waits. */
  write(mulaw: Uint8Array): void;
  /** Writes the rest. @throws the database's error after retries, or Error if the recording was deleted meanwhile */
  close(): Promise<void>;
}

/** Reuses chunk buffers, because allocating new ones would keep the garbage collector of a media process busy. */
export type ChunkPool = ReturnType<typeof createChunkPool>;

export function createChunkPool() {
  const free: Uint8Array[] = [];
  return {
    take: (): Uint8Array => free.pop() ?? new Uint8Array(CHUNK_BYTES),
    giveBack(chunk: Uint8Array): void {
      if (free.length < MAX_FREE_CHUNKS) free.push(chunk);
    },
  };
}

/** Writes one file of a recording: the document, then each full chunk, then the length. */
export function writeRecording(deps: {
  files: VoiceDatabase['recordingFiles'];
  chunks: mongoose.mongo.Collection<RecordingChunkDocument>;
  pool: ChunkPool;
  giveUpAfterMs: number;
  after: Promise<boolean>;
  id: string;
  chunkId: (n: number) => string;
  offsetMs: number;
  test: boolean;
  mayStore: MayStore | undefined;
}): RecordingWriter {
  const { files, chunks, pool, giveUpAfterMs, after, id, chunkId, offsetMs, test, mayStore } = deps;
  /** The chunk being filled. */
  let chunk: Uint8Array | undefined;
  let filled = 0;
  let count = 0;
  /** Number of full chunks not written yet. */
  let waiting = 0;
  let length = 0;
  /** Whether the file was deleted during the stream because the call was erased. Then nothing more is stored. */
  let removed = false;
  /** Number of chunks after which the recording was ended by `mayStore`. */
  let endedAfter = Infinity;
  let written: Promise<void> = after.then((isOurs) => {
    if (!isOurs) throw new Error('The recording belongs to another stream.');
  });
  // `close` reports a failure. Until then the failure must not become an unhandled rejection.
  written.catch(() => undefined);

  function next(write: () => Promise<unknown>): void {
    written = written.then(() => repeat(write, giveUpAfterMs));
    written.catch(() => undefined);
  }

  function createFile(): Promise<unknown> {
    return files.create({
      _id: id,
      chunkSize: CHUNK_BYTES,
      uploadDate: new Date(),
      filename: `${id}.wav`,
      metadata: { contentType: 'audio/wav', offsetMs },
      open: true,
      ...(test ? { test } : {}),
    });
  }

  function flush(): void {
    const full = chunk;
    if (full === undefined) return;
    if (waiting >= MAX_WAITING_CHUNKS) {
      written = Promise.reject(
        new Error('The database is too slow: too much of the recording is waiting to be stored.'),
      );
      written.catch(() => undefined);
    }
    const first = count;
    if (mayStore !== undefined && first % CHUNKS_PER_REQUEST === 0) {
      const seconds = (first + CHUNKS_PER_REQUEST) * CHUNK_SECONDS;
      next(async () => {
        if (endedAfter === Infinity && !(await mayStore(seconds))) endedAfter = first;
      });
    }
    if (first === 0) next(async () => endedAfter > 0 && createFile());
    const data = new mongoose.mongo.Binary(full.subarray(0, filled));
    const document = { _id: chunkId(count), files_id: id, n: count, data };
    chunk = undefined;
    filled = 0;
    count += 1;
    waiting += 1;
    next(async () => {
      if (endedAfter < Infinity) return;
      removed ||= (await files.exists({ _id: id })) === null;
      if (!removed) await chunks.insertOne(document);
    });
    written.then(
      () => {
        waiting -= 1;
        pool.giveBack(full);
      },
      () => (waiting -= 1),
    );
  }

  function closeFile(): Promise<unknown> {
    const stored = { length: Math.min(length, endedAfter * CHUNK_BYTES) };
    return files.updateOne({ _id: id }, { $set: stored, $unset: { open: '' } }).exec();
  }

  return {
    write(mulaw) {
      if (endedAfter < Infinity) return;
      length += mulaw.length;
      for (let at = 0; at < mulaw.length;) {
        chunk ??= pool.take();
        const part = mulaw.subarray(at, at + CHUNK_BYTES - filled);
        chunk.set(part, filled);
        filled += part.length;
        at += part.length;
        if (filled === CHUNK_BYTES) flush();
      }
    },
    async close() {
      flush();
      if (count > 0) next(closeFile);
      await written;
      if (removed) throw new Error('The recording was deleted while it was written.');
    },
  };
}

/** Retries a write until `giveUpAfterMs` has passed. A duplicate key means that an earlier attempt succeeded. */
async function repeat(write: () => Promise<unknown>, giveUpAfterMs: number): Promise<void> {
  const giveUpAt = performance.now() + giveUpAfterMs;
  for (let pauseMs = 100; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    try {
      await write();
      return;
    } catch (error) {
      if (isDuplicateKey(error)) return;
      if (performance.now() + pauseMs > giveUpAt) throw error;
    }
    await sleep(pauseMs);
  }
}
