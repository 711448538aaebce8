import { Readable } from 'node:stream';
import { decodeMulaw } from '../audio/mulaw.js';
import { pcmBytes, WAV_HEADER_BYTES, wavHeader } from '../audio/wav.js';
import type { VoiceDatabase } from '../database.js';
import { callIdOf, chunkId, createRecordingFiles, fileId } from './recording-files.js';
import { createChunkPool, writeRecording, type RecordingWriter } from './recording-writer.js';
import { layOut, silence, type Segment } from './recording-segments.js';

const FORMAT = { sampleRate: 8_000, channels: 2 };
/** A WAV file holds 16-bit samples, which every player knows; what is stored is the line's mu-law. */
const BYTES_PER_STORED_BYTE = 2;
/** How long writes are repeated while the database is away, from the first failure of a chunk. */
const GIVE_UP_AFTER_MS = 120_000;

/** One stream of a call, by its number: 0 for the first. */
export interface RecordingKey {
  callId: string;
  stream: number;
  /** When the stream began, in ms from the start of the call's first one. */
  offsetMs: number;
  /** Of a test call, whose recordings may be kept for a shorter time. */
  test?: boolean;
}

export type Recordings = ReturnType<typeof createRecordings>;

/**
 * Recordings in the layout of GridFS, bucket `recordings`: a file for each stream of a call, read as one. What
 * the line carried is kept, mu-law without a header: half the bytes to write beside the audio, and the length is known
 * only at the end. The WAV file is made of it when it is read. A recording can be read when all its files have their length: given by the process that wrote it, or by `seal` when that one died.
 */
export function createRecordings(database: VoiceDatabase, options: { giveUpAfterMs?: number } = {}) {
  const stored = createRecordingFiles(database);
  const { files, chunks } = stored;
  const pool = createChunkPool();
  const giveUpAfterMs = options.giveUpAfterMs ?? GIVE_UP_AFTER_MS;

  async function* wavOf(segments: readonly Segment[], dataBytes: number): AsyncGenerator<Buffer> {
    yield wavHeader({ ...FORMAT, dataBytes });
    for (const segment of segments) {
      for (const mulaw of silence(segment.silenceBefore)) yield pcmBytes(decodeMulaw(mulaw));
      for await (const mulaw of stored.read(segment.file._id, segment.bytes)) yield pcmBytes(decodeMulaw(mulaw));
    }
  }

  async function seal(callId: string): Promise<boolean> {
    for (const file of await stored.of(callId)) if (file.length === undefined) await stored.seal(file);
    return (await stored.of(callId)).some(({ length = 0 }) => length > 0);
  }

  return {
    /**
     * Begins the recording of a stream; bytes are written behind, in order.
     * @param after nothing is written before this has come true, and nothing at all when it comes false
     */
    open({ callId, stream, offsetMs, test = false }: RecordingKey, after: Promise<boolean>): RecordingWriter {
      const id = fileId(callId, stream);
      return writeRecording({
        files,
        chunks,
        pool,
        giveUpAfterMs,
        after,
        id,
        chunkId: (n) => chunkId(id, n),
        offsetMs,
        test,
      });
    },

    /** The recording as a WAV file and its size in bytes; null when there is none, or not all of it yet. */
    async read(callId: string): Promise<{ stream: Readable; bytes: number } | null> {
      const found = await stored.of(callId);
      if (found.some(({ length }) => length === undefined)) return null;
      const segments = layOut(found.filter(({ length = 0 }) => length > 0));
      if (segments.length === 0) return null;
      const storedBytes = segments.reduce((sum, segment) => sum + segment.silenceBefore + segment.bytes, 0);
      const bytes = storedBytes * BYTES_PER_STORED_BYTE;
      return {
        stream: Readable.from(wavOf(segments, bytes), { objectMode: false }),
        bytes: bytes + WAV_HEADER_BYTES,
      };
    },

    /**
     * Makes what is stored of a call's recording readable, where the process that wrote it did not. Harmless when that
     * process lives: it writes the right length when it is done.
     * @returns whether there is anything
     */
    seal,

    /** Removes a recording, also chunks that came after their file was removed; none is a success. */
    delete: (callId: string) => stored.deleteOf(callId),

    /** Ids of calls, or of test calls only, with files from before a time, at most `limit`, the oldest first. */
    async callsBefore(time: Date, limit: number, which: 'all' | 'test' = 'all'): Promise<string[]> {
      const ofTest = which === 'test' ? { test: true as const } : {};
      const old = await files
        .find({ ...ofTest, uploadDate: { $lt: time } }, { _id: 1 })
        .sort({ uploadDate: 1 })
        .limit(limit)
        .lean<{ _id: string }[]>();
      return [...new Set(old.map(({ _id }) => callIdOf(_id)))];
    },

    /** Ids of calls with files from before a time that nobody finished, at most `limit`. */
    async unfinishedBefore(time: Date, limit: number): Promise<string[]> {
      const open = await files
        .find({ open: true, uploadDate: { $lt: time } }, { _id: 1 })
        .limit(limit)
        .lean<{ _id: string }[]>();
      return [...new Set(open.map(({ _id }) => callIdOf(_id)))];
    },
  };
}
