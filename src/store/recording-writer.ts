import { setTimeout as sleep } from 'node:timers/promises';
import mongoose from 'mongoose';
import type { Database } from './database.js';
import { isDuplicateKey } from './database.js';
import type { RecordingChunkDocument } from './models/recording.js';

/** Two seconds of a recording: what a process that dies takes with it. */
const CHUNK_BYTES = 64_000;
const LONGEST_PAUSE_MS = 5_000;

export interface RecordingWriter {
  /** Takes interleaved little-endian 16-bit PCM, left the caller, right the agent. Never waits. */
  write(pcm: Buffer): void;
  /** Writes the rest. @throws the database's error when it stayed away too long, and the recording is then not whole */
  close(): Promise<void>;
}

/** Writes one file of a recording: its document, then its chunks as they fill, then its length. */
export function writeRecording(deps: {
  files: Database['recordingFiles'];
  chunks: mongoose.mongo.Collection<RecordingChunkDocument>;
  giveUpAfterMs: number;
  after: Promise<boolean>;
  id: string;
  chunkId: (n: number) => string;
  offsetMs: number;
}): RecordingWriter {
  const { files, chunks, giveUpAfterMs, after, id, chunkId, offsetMs } = deps;
  let waiting: Buffer[] = [];
  let waitingBytes = 0;
  let count = 0;
  let length = 0;
  let written: Promise<void> = after.then((isOurs) => {
    if (!isOurs) throw new Error('The recording belongs to another stream.');
  });
  // Reported by close; until then a failure must not be an unhandled one.
  written.catch(() => undefined);

  function next(write: () => Promise<unknown>): void {
    written = written.then(() => repeat(write, giveUpAfterMs));
    written.catch(() => undefined);
  }

  function flush(bytes: number): void {
    if (count === 0) {
      next(() =>
        files.create({
          _id: id,
          chunkSize: CHUNK_BYTES,
          uploadDate: new Date(),
          filename: `${id}.wav`,
          metadata: { contentType: 'audio/wav', offsetMs },
          open: true,
        }),
      );
    }
    const all = Buffer.concat(waiting);
    const data = new mongoose.mongo.Binary(all.subarray(0, bytes));
    const chunk = { _id: chunkId(count), files_id: id, n: count, data };
    waiting = [all.subarray(bytes)];
    waitingBytes -= bytes;
    count += 1;
    next(() => chunks.insertOne(chunk));
  }

  return {
    write(pcm) {
      waiting.push(pcm);
      waitingBytes += pcm.length;
      length += pcm.length;
      while (waitingBytes >= CHUNK_BYTES) flush(CHUNK_BYTES);
    },
    async close() {
      if (waitingBytes > 0) flush(waitingBytes);
      if (count > 0) next(() => files.updateOne({ _id: id }, { $set: { length }, $unset: { open: '' } }));
      await written;
    },
  };
}

/** A write that was made already counts as made. */
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
