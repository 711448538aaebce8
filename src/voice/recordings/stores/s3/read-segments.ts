import type { RecordingFileDocument } from '../../model.js';
import type { Part } from '../port.js';
import type { Bucket } from './bucket.js';
import { placeOf, SEGMENT_BYTES, segmentPlace } from './keys.js';

const READS_AT_ONCE = 8;

/** Reads a part of a file that is not joined, several segments at once. @param part begins where a segment does */
export async function readSegments(
  bucket: Bucket,
  file: RecordingFileDocument,
  { from, to }: Part,
  outer: AbortSignal,
): Promise<Uint8Array> {
  const data = new Uint8Array(to - from);
  const failed = new AbortController();
  const signal = AbortSignal.any([outer, failed.signal]);
  const starts = Array.from({ length: Math.ceil(data.length / SEGMENT_BYTES) }, (_, n) => n * SEGMENT_BYTES).values();
  const readNext = async () => {
    for (const start of starts) {
      const place = segmentPlace(file._id, placeOf(file), (from + start) / SEGMENT_BYTES);
      const bytes = Math.min(SEGMENT_BYTES, data.length - start);
      data.set(await bucket.get(place, { from: 0, to: bytes }, signal), start);
    }
  };
  try {
    await Promise.all(Array.from({ length: READS_AT_ONCE }, readNext));
  } catch (error) {
    failed.abort(error);
    throw error;
  }
  return data;
}
