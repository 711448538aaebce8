import { MULAW_SILENCE } from '../audio/mulaw.js';
import type { RecordingFileDocument } from './model.js';

/** Two channels of mu-law bytes, 8,000 a second. */
export const BYTES_PER_MS = 16;
const BYTES_PER_SAMPLE_PAIR = 2;
/** A line that was lost is noticed sooner than this; a longer overlap comes of clocks that disagree. */
const MAX_OVERLAP_BYTES = 10_000 * BYTES_PER_MS;
const SILENCE_BLOCK = Buffer.alloc(64 * 1_024, MULAW_SILENCE);

/** What is to be read of one file, and the silence before it, in bytes. */
export interface Segment {
  file: RecordingFileDocument;
  silenceBefore: number;
  bytes: number;
}

/**
 * Lays the files of a call's streams on one time line: silence where there was no stream; of two that overlap the later
 * one is heard, because the call had moved there; yet not for longer than it takes to notice that.
 * @param files in the order of their streams, each with its length
 */
export function layOut(files: readonly RecordingFileDocument[]): Segment[] {
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

export function* silence(bytes: number): Generator<Buffer> {
  for (let left = bytes; left > 0; left -= SILENCE_BLOCK.length) yield SILENCE_BLOCK.subarray(0, left);
}

/** A whole number of sample pairs. */
function bytesAt(ms: number): number {
  return Math.round((ms * BYTES_PER_MS) / BYTES_PER_SAMPLE_PAIR) * BYTES_PER_SAMPLE_PAIR;
}
