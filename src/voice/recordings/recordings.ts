import { Readable } from 'node:stream';
import { setImmediate as nextEventLoopPass } from 'node:timers/promises';
import { decodeMulaw } from '../audio/mulaw.js';
import { pcmBytes, WAV_HEADER_BYTES, wavHeader } from '../audio/wav.js';
import type { ByteRange } from '../../platform/http/routing/byte-range.js';
import type { VoiceDatabase } from '../database.js';
import { fileId } from './file-ids.js';
import { createOldFiles } from './old-files.js';
import { createRecordingFiles, type DeletionOptions } from './recording-files.js';
import { createBufferPool, writeRecording, type RecordingWriter } from './recording-writer.js';
import { bytesIn, segmentsOf, silence, type Segment } from './recording-segments.js';
import type { Part } from './stores/port.js';
import { createAudioStores, type AudioStores } from './stores/stores.js';
import type { MayStore } from './test-recording-time.js';
import { createWaveforms } from './waveforms.js';

const FORMAT = { sampleRate: 8_000, channels: 2 };
/** The WAV file has 16-bit samples, which every player supports; a store has mu-law, one byte per sample. */
const BYTES_PER_STORED_BYTE = 2;
/** How long a failing write is retried while the database or the store is unavailable. */
const GIVE_UP_AFTER_MS = 120_000;

/** One media stream of a call, by its stream number: 0 for the first. */
export interface RecordingKey {
  callId: string;
  stream: number;
  /** Start of the stream, in ms from the start of the call's first stream. */
  offsetMs: number;
  /** Set for a test call, whose recordings may have a shorter retention. */
  test?: boolean;
}

interface Recording {
  /** Size of the WAV file. */
  bytes: number;
  /** Reads the file, or a part of it that is not empty. */
  open(range?: ByteRange): Readable;
}

export type Recordings = ReturnType<typeof createRecordings>;

/**
 * Stores recordings, in MongoDB in the layout of GridFS, bucket `recordings`, or in object storage. A call has one file
 * per media stream; `read` joins them and converts them to WAV. Files store mu-law without a header, which takes half the size of a WAV file. A
 * recording is readable once all its files have a length. The process that writes a file sets its length at the end;
 * if the process dies, `seal` does.
 */
export function createRecordings(
  database: VoiceDatabase,
  options: { giveUpAfterMs?: number; stores?: AudioStores } = {},
) {
  const stores = options.stores ?? createAudioStores(database);
  const stored = createRecordingFiles(database, stores);
  const { files } = stored;
  const pool = createBufferPool(stores.target.segmentBytes);
  const giveUpAfterMs = options.giveUpAfterMs ?? GIVE_UP_AFTER_MS;

  /** Reads the audio of a part. Of files it reads no more, because a store may bill what it sends; silence may be longer. */
  async function* mulawOf(
    segments: readonly Segment[],
    { from, to }: Part,
    signal: AbortSignal,
  ): AsyncGenerator<Uint8Array> {
    let skip = from;
    let start = 0;
    for (const { file, silenceBefore, bytes } of segments) {
      for (const block of silence(silenceBefore - skip)) {
        yield block;
        // Silence needs no I/O, so without this hours of it would be converted in one go.
        await nextEventLoopPass();
      }
      skip = Math.max(0, skip - silenceBefore);
      start += silenceBefore;
      const end = Math.min(bytes, to - start);
      if (skip < end) yield* stored.read(file, { from: skip, to: end }, { signal });
      skip = Math.max(0, skip - bytes);
      start += bytes;
    }
  }

  async function* wavOf(p: { segments: readonly Segment[]; dataBytes: number; range: ByteRange; signal: AbortSignal }) {
    const { segments, dataBytes, signal } = p;
    const { first, last } = p.range;
    const header = wavHeader({ ...FORMAT, dataBytes }).subarray(first, last + 1);
    if (header.length > 0) yield header;
    const from = Math.max(0, first - WAV_HEADER_BYTES);
    let skip = from % BYTES_PER_STORED_BYTE;
    let left = last + 1 - first - header.length;
    if (left === 0) return;
    const part = {
      from: Math.floor(from / BYTES_PER_STORED_BYTE),
      to: Math.ceil((last + 1 - WAV_HEADER_BYTES) / BYTES_PER_STORED_BYTE),
    };
    for await (const mulaw of mulawOf(segments, part, signal)) {
      const pcm = pcmBytes(decodeMulaw(mulaw)).subarray(skip, skip + left);
      yield pcm;
      skip = 0;
      left -= pcm.length;
      if (left === 0) return;
    }
  }

  async function seal(callId: string): Promise<boolean> {
    for (const file of await stored.of(callId)) if (file.length === undefined) await stored.seal(file);
    return (await stored.of(callId)).some(({ length = 0 }) => length > 0);
  }

  return {
    /**
     * Starts the recording of a stream; writes happen in the background, in order.
     * @param after writing starts when it resolves to true, and never if it resolves to false
     * @param mayStore limits the length: when it resolves to false, nothing further is stored. No limit by default
     */
    open(
      { callId, stream, offsetMs, test = false }: RecordingKey,
      after: Promise<boolean>,
      mayStore?: MayStore,
    ): RecordingWriter {
      const id = fileId(callId, stream);
      const store = stores.target;
      return writeRecording({ files, store, pool, giveUpAfterMs, after, id, offsetMs, test, mayStore });
    },

    /** The recording as a WAV file; null if there is none or a file is still incomplete. */
    async read(callId: string): Promise<Recording | null> {
      const segments = segmentsOf(await stored.of(callId));
      if (segments === undefined) return null;
      const dataBytes = bytesIn(segments) * BYTES_PER_STORED_BYTE;
      const bytes = dataBytes + WAV_HEADER_BYTES;
      return {
        bytes,
        open: (range = { first: 0, last: bytes - 1 }) =>
          readableOf((signal) => wavOf({ segments, dataBytes, range, signal })),
      };
    },

    ...createWaveforms(stored),

    /**
     * Makes the stored part of a call's recording readable if the process that writes it did not finish. If that
     * process is still alive, it later sets the final length.
     * @returns whether there is any recording
     */
    seal,

    /** Deletes a recording, including audio that arrived after an earlier deletion. Succeeds if there is none. */
    delete: (callId: string, options?: DeletionOptions) => stored.deleteOf(callId, options),

    /** The names of everything that is stored of a call's audio, in every store. */
    list: (callId: string) => stored.list(callId),

    upkeep: stored.upkeep,

    ...createOldFiles(files),
  };
}

/** Returns a stream that ends its source, and the request that is in progress, when it is destroyed. */
function readableOf(source: (signal: AbortSignal) => AsyncGenerator<Uint8Array>): Readable {
  const over = new AbortController();
  const pieces = source(over.signal);
  return new Readable({
    read() {
      pieces.next().then(
        ({ done, value }) => this.push(done === true ? null : value),
        (error: Error) => this.destroy(error),
      );
    },
    destroy(error, closed) {
      over.abort(new Error('The reader has left.'));
      pieces.return(undefined).catch(() => undefined);
      closed(error);
    },
  });
}
