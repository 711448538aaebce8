import { MULAW_SILENCE } from '../audio/mulaw.js';
import type { RecordingFileDocument } from './model.js';

/** Bytes of recording per ms: two channels of mu-law at 8,000 samples per second each. */
export const BYTES_PER_MS = 16;
const BYTES_PER_SAMPLE_PAIR = 2;
/** Longest overlap of two streams, 10 s. A lost stream is noticed sooner; a longer overlap means that clocks differ. */
const MAX_OVERLAP_BYTES = 10_000 * BYTES_PER_MS;
const SILENCE_BLOCK = Buffer.alloc(64 * 1_024, MULAW_SILENCE);

/** A file with the number of bytes to read from it, and the bytes of silence to insert before. */
export interface Segment {
  file: RecordingFileDocument;
  silenceBefore: number;
  bytes: number;
}

/**
 * Arranges the files of a call's streams on one timeline, with silence where no stream existed. If two streams
 * overlap, the later one is used, because the call had moved to it. At most `MAX_OVERLAP_BYTES` are replaced.
 * @param files ordered by stream number, each with its length
 */
export function arrangeSegments(files: readonly RecordingFileDocument[]): Segment[] {
  const starts = files.map(({ metadata }) => bytesAt(metadata.offsetMs ?? 0));
  let end = 0;
  return files.map((file, index) => {
    const start = Math.max(end, starts[index] ?? 0);
    const length = file.length ?? 0;
    const room = Math.max((starts[index + 1] ?? Infinity) - start, length - MAX_OVERLAP_BYTES);
    const bytes = Math.max(0, Math.min(length, room));
    const silenceBefore = start - end;
    end = start + bytes;
    return { file, silenceBefore, bytes };
  });
}

/** The segments of a complete recording; undefined if there is none or a file is still incomplete. */
export function segmentsOf(files: readonly RecordingFileDocument[]): Segment[] | undefined {
  if (files.some(({ length }) => length === undefined)) return undefined;
  const segments = arrangeSegments(files.filter(({ length = 0 }) => length > 0));
  return segments.length === 0 ? undefined : segments;
}

/** The bytes of mu-law of a recording, with the silence between its streams. */
export function bytesIn(segments: readonly Segment[]): number {
  return segments.reduce((sum, segment) => sum + segment.silenceBefore + segment.bytes, 0);
}

/** Yields silence; nothing if `bytes` is not positive. */
export function* silence(bytes: number): Generator<Buffer> {
  for (let left = bytes; left > 0; left -= SILENCE_BLOCK.length) yield SILENCE_BLOCK.subarray(0, left);
}

/** Rounds to a whole number of sample pairs. */
function bytesAt(ms: number): number {
  return Math.round((ms * BYTES_PER_MS) / BYTES_PER_SAMPLE_PAIR) * BYTES_PER_SAMPLE_PAIR;
}
