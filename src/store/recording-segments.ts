import { MULAW_SILENCE } from '../audio/mulaw.js';
import type { RecordingFileDocument } from './models/recording.js';

/** Two channels of mu-law bytes, 8,000 a second. */
export const BYTES_PER_MS = 16;
const BYTES_PER_SAMPLE_PAIR = 2;
const SILENCE_BLOCK = Buffer.alloc(64 * 1_024, MULAW_SILENCE);

/** What is to be read of one file, and the silence before it, in bytes. */
export interface Segment {
  file: RecordingFileDocument;
  silenceBefore: number;
  bytes: number;
}

/**
 * Lays the files of a call's streams on one time line: silence where there was no stream; of two that overlap the later
 * one is heard, because the call had moved there.
 * @param files in the order of their streams, each with its length
 */
export function layOut(files: readonly RecordingFileDocument[]): Segment[] {
  const starts = files.map(({ metadata }) => bytesAt(metadata.offsetMs ?? 0));
  let end = 0;
  return files.map((file, index) => {
    const start = Math.max(end, starts[index] ?? 0);
    const room = (starts[index + 1] ?? Infinity) - start;
    const bytes = Math.max(0, Math.min(file.length ?? 0, room));
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
