import { buffer } from 'node:stream/consumers';
import { createRecordings } from '../../src/voice/recordings/recordings.js';
import type { Part } from '../../src/voice/recordings/stores/port.js';

const SEGMENT_BYTES = 4_096;
const CALL_ID = 'call_0123456789abcdefghjkmnpqrs';
/** Two streams, with a second of silence between them. */
const FILES = [
  { _id: CALL_ID, length: 40_000, metadata: {}, objects: {} },
  { _id: `${CALL_ID}.1`, length: 24_000, metadata: { offsetMs: 3_500 }, objects: {} },
];

/** Recordings in a store that reads a segment at once, as object storage does. */
function openRecordings() {
  const parts: Part[] = [];
  const store = {
    segmentBytes: SEGMENT_BYTES,
    async *read(_file: object, { from, to }: Part) {
      parts.push({ from, to });
      for (let at = from; at < to; at += SEGMENT_BYTES) {
        yield Uint8Array.from({ length: Math.min(SEGMENT_BYTES, to - at) }, (_, index) => (at + index) % 251);
      }
    },
  };
  const database = { recordingFiles: { find: () => ({ lean: async () => FILES }) } };
  const recordings = createRecordings(database as never, {
    stores: { target: store, chunks: store, objects: store } as never,
  });
  return { recordings, parts };
}

describe('a part of a recording', () => {
  it('is read from the store without the part that follows it', async () => {
    const { recordings, parts } = openRecordings();
    const recording = await recordings.read(CALL_ID);
    expect(await buffer(recording!.open({ first: 1_044, last: 1_044 }))).toHaveLength(1);
    expect(parts).toEqual([{ from: 500, to: 501 }]);
  });

  it.each([
    ['its header', 0, 43],
    ['its header and its first byte', 0, 44],
    ['two bytes of different samples', 45, 46],
    ['the end of the first stream and silence', 80_000, 80_100],
    ['silence only', 90_000, 90_001],
    ['silence and the beginning of the second stream', 110_000, 112_100],
    ['its last byte', 160_043, 160_043],
    ['all of it', 0, 160_043],
  ])('has the bytes of the whole file: %s', async (_part, first, last) => {
    const recording = await openRecordings().recordings.read(CALL_ID);
    expect(recording?.bytes).toBe(160_044);
    const whole = await buffer(recording!.open());
    expect(whole).toHaveLength(160_044);
    const part = await buffer(recording!.open({ first, last }));
    expect(part.equals(whole.subarray(first, last + 1))).toBe(true);
  });
});
