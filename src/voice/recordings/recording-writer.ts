import { setTimeout as sleep } from 'node:timers/promises';
import type { VoiceDatabase } from '../database.js';
import { isDuplicateKey } from '../../platform/mongo/connection.js';
import { adoptMark } from './deletion-mark.js';
import { callIdOf } from './file-ids.js';
import { newFile } from './model.js';
import type { AudioStore } from './stores/port.js';
import type { MayStore } from './test-recording-time.js';

const BYTES_PER_SECOND = 16_000;
/** How many seconds are asked for at once where the length of recordings is limited. */
const SECONDS_PER_REQUEST = 10;
const LONGEST_PAUSE_MS = 5_000;
/** Maximum unwritten audio: two minutes. Without a limit, a slow store would let memory grow. */
const MAX_WAITING_BYTES = 120 * BYTES_PER_SECOND;
/** Maximum unused buffers, one for each of several hundred calls: 16 MB of chunks, or 41 MB of objects. */
const MAX_FREE_BUFFERS = 512;

export interface RecordingWriter {
  /** Copies mu-law bytes of both tracks, interleaved: left the caller, right the agent. Never waits. */
  write(mulaw: Uint8Array): void;
  /** Writes the rest. @throws the store's error after retries, or Error if the recording was deleted meanwhile */
  close(): Promise<void>;
}

/** Reuses the buffers of segments, because allocating new ones would keep the garbage collector of a media process busy. */
export type BufferPool = ReturnType<typeof createBufferPool>;

/** @param bytes size of each buffer */
export function createBufferPool(bytes: number) {
  const free: Uint8Array[] = [];
  return {
    take: (): Uint8Array => free.pop() ?? new Uint8Array(bytes),
    giveBack(buffer: Uint8Array): void {
      if (free.length < MAX_FREE_BUFFERS) free.push(buffer);
    },
  };
}

/** Writes one file of a recording: the document, then each full segment, then the length. */
export function writeRecording(deps: {
  files: VoiceDatabase['recordingFiles'];
  store: AudioStore;
  pool: BufferPool;
  giveUpAfterMs: number;
  after: Promise<boolean>;
  id: string;
  offsetMs: number;
  test: boolean;
  mayStore: MayStore | undefined;
}): RecordingWriter {
  const { files, store, pool, giveUpAfterMs, after, id, offsetMs, test, mayStore } = deps;
  const { segmentBytes } = store;
  const segmentsPerRequest = Math.ceil((SECONDS_PER_REQUEST * BYTES_PER_SECOND) / segmentBytes);
  const place = store.place();
  /** The segment being filled. */
  let segment: Uint8Array | undefined;
  let filled = 0;
  let count = 0;
  /** Number of full segments not written yet. */
  let waiting = 0;
  let length = 0;
  /** Whether the file was deleted during the stream because the call was erased. Then nothing more is stored. */
  let removed = false;
  /** Number of segments after which the recording was ended by `mayStore`. */
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
    const created = newFile({ id, chunkSize: segmentBytes, offsetMs });
    return files.create({ ...created, open: true, ...(test ? { test } : {}), ...place });
  }

  async function storeSegment(n: number, data: Uint8Array): Promise<void> {
    if (endedAfter < Infinity || removed) return;
    removed = !(await store.put({ file: id, n, data }));
  }

  function flush(): void {
    const full = segment;
    if (full === undefined) return;
    if (waiting * segmentBytes >= MAX_WAITING_BYTES) {
      written = Promise.reject(new Error('The store is too slow: too much of the recording is waiting to be stored.'));
      written.catch(() => undefined);
    }
    const n = count;
    if (mayStore !== undefined && n % segmentsPerRequest === 0) {
      const seconds = ((n + segmentsPerRequest) * segmentBytes) / BYTES_PER_SECOND;
      next(async () => {
        if (endedAfter === Infinity && !(await mayStore(seconds))) endedAfter = n;
      });
    }
    if (n === 0) {
      next(async () => endedAfter > 0 && createFile());
      next(async () => {
        if (endedAfter > 0) removed = await adoptMark(files, id);
      });
    }
    const data = full.subarray(0, filled);
    segment = undefined;
    filled = 0;
    count += 1;
    waiting += 1;
    next(() => storeSegment(n, data));
    written.then(
      () => {
        waiting -= 1;
        pool.giveBack(full);
      },
      () => (waiting -= 1),
    );
  }

  async function closeFile(): Promise<void> {
    const stored = { length: Math.min(length, endedAfter * segmentBytes) };
    const joinAfter = place.objects && { joinAfter: new Date() };
    const closed = { $set: { ...stored, ...joinAfter }, $unset: { open: '' } };
    const { matchedCount } = await files.updateOne({ _id: id, forgetAfter: null }, closed);
    if (matchedCount > 0 || endedAfter === 0) return;
    // Deleted after the store last looked. All files of a call are deleted together.
    removed = true;
    await store.delete(callIdOf(id), []);
  }

  return {
    write(mulaw) {
      if (endedAfter < Infinity) return;
      length += mulaw.length;
      for (let at = 0; at < mulaw.length;) {
        segment ??= pool.take();
        const part = mulaw.subarray(at, at + segmentBytes - filled);
        segment.set(part, filled);
        filled += part.length;
        at += part.length;
        if (filled === segmentBytes) flush();
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
