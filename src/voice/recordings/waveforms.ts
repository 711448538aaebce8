import { mongo } from 'mongoose';
import { createPeakMeter } from './peak-meter.js';
import type { RecordingFiles } from './recording-files.js';
import { BYTES_PER_MS, bytesIn, segmentsOf, type Segment } from './recording-segments.js';

const BYTES_PER_SAMPLE_PAIR = 2;
/** Parts of a waveform, more than a screen has room for. Short recordings have parts of at least 10 ms. */
const MAX_PARTS = 1_500;
const SHORTEST_PART_BYTES = 10 * BYTES_PER_MS;

/** How loud a recording is in equal parts of it. */
export interface Waveform {
  durationMs: number;
  /** The caller's and the agent's peak of each part in turn, from 0 to 255. */
  peaks: Uint8Array;
}

type Compute = (signal: AbortSignal) => Promise<Uint8Array | null>;

/** Starts the computation of a waveform that is not stored yet, which takes seconds for a long call. */
export type StartComputation = (compute: Compute) => Promise<Uint8Array | null>;

/**
 * Reads waveforms of recordings. A waveform is computed when it is first read, and stored with the recording, so that it
 * is deleted with it. Computing reads the recording piece by piece: four hours of it are 230 MB.
 */
export function createWaveforms(stored: RecordingFiles) {
  const running = new Map<string, Promise<Uint8Array | null>>();

  async function compute(segments: readonly Segment[], bytes: number, signal: AbortSignal): Promise<Uint8Array> {
    const parts = Math.max(1, Math.min(MAX_PARTS, Math.floor(bytes / SHORTEST_PART_BYTES)));
    const meter = createPeakMeter({ samples: bytes / BYTES_PER_SAMPLE_PAIR, parts });
    for (const { file, silenceBefore, bytes: length } of segments) {
      meter.skip(silenceBefore / BYTES_PER_SAMPLE_PAIR);
      for await (const mulaw of stored.read(file, { from: 0, to: length }, { signal, inBulk: true })) meter.add(mulaw);
    }
    return meter.peaks;
  }

  async function computeAndStore(callId: string, segments: readonly Segment[], bytes: number, signal: AbortSignal) {
    try {
      const peaks = await compute(segments, bytes, signal);
      const waveform = { bytes, peaks: new mongo.Binary(peaks) };
      // If the recording was deleted meanwhile, this stores nothing.
      await stored.files.updateOne({ _id: segments[0]?.file._id ?? callId, forgetAfter: null }, { $set: { waveform } });
      return peaks;
    } catch (error) {
      if ((await stored.of(callId)).length === 0) return null;
      throw error;
    }
  }

  /** Returns the result of the running computation with this key, or starts one. */
  function computeOnce(key: string, start: () => Promise<Uint8Array | null>): Promise<Uint8Array | null> {
    const known = running.get(key);
    if (known !== undefined) return known;
    const computation = start().finally(() => running.delete(key));
    // The requests for it may be over.
    computation.catch(() => undefined);
    running.set(key, computation);
    return computation;
  }

  return {
    /**
     * Reads the waveform of a call's recording; null if there is none or a file is still incomplete. Requests for a waveform
     * that is being computed share the computation, which does not end with them.
     */
    async readWaveform(callId: string, start: StartComputation): Promise<Waveform | null> {
      const segments = segmentsOf(await stored.of(callId));
      if (segments === undefined) return null;
      const bytes = bytesIn(segments);
      const known = segments[0]?.file.waveform;
      const peaks =
        known?.bytes === bytes
          ? known.peaks.value()
          : await computeOnce(`${callId} ${bytes}`, () =>
              start((signal) => computeAndStore(callId, segments, bytes, signal)),
            );
      return peaks && { durationMs: Math.round(bytes / BYTES_PER_MS), peaks };
    },
  };
}
