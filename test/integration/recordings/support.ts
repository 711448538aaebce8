import { buffer } from 'node:stream/consumers';
import { decodeMulaw } from '../../../src/voice/audio/mulaw.js';
import { openDatabase, type Database } from '../../../src/database.js';
import { parseConfig } from '../../../src/platform/config/config.js';
import { createRecordings, type Recordings } from '../../../src/voice/recordings/recordings.js';
import { createAudioStores } from '../../../src/voice/recordings/stores/stores.js';
import { createTestBucket, endpointOf, variablesOf, type TestBucket } from '../../support/object-storage/bucket.js';
import { openTestDatabase } from '../../support/store/test-database.js';
import { startGate } from '../voice/support/gate';

export const BYTES_PER_MS = 16;
export const OURS = Promise.resolve(true);
export const STORES = ['mongodb', 's3'] as const;

/** Settings of recordings, as the environment declares them. */
export const settingsOf = (env: Record<string, string>) => parseConfig({ NODE_ENV: 'test', ...env }).recordings;

/** A database and a bucket, with one of them as the store that can be cut off. */
export async function openWorld(store: (typeof STORES)[number]) {
  const database = await openTestDatabase('recordings');
  const bucket = await createTestBucket();
  const gate = await startGate(store === 's3' ? new URL(endpointOf()).host : new URL(mongodb()).host);
  // Behind the gate is what may be unavailable: the bucket, or the database.
  const near =
    store === 's3'
      ? database
      : await openDatabase(`mongodb://${gate.address}/${database.connection.name}`, { waitMs: 5_000 });
  const env = store === 's3' ? variablesOf(bucket.name, `http://${gate.address}`) : {};
  const recordings = createRecordings(near, { giveUpAfterMs: 5_000, stores: createAudioStores(near, settingsOf(env)) });
  return {
    database,
    bucket,
    gate,
    recordings,
    async close(): Promise<void> {
      if (near !== database) await near.close();
      await gate.close();
      bucket.close();
      await database.connection.dropDatabase();
      await database.close();
    },
  };
}

export type World = Awaited<ReturnType<typeof openWorld>>;

function mongodb(): string {
  return process.env['TEST_MONGODB_URI'] ?? '';
}

/** Returns audio whose parts all differ, so that wrong or missing parts are noticed. */
export function audioOf(ms: number, seed = 1): Buffer {
  const audio = Buffer.alloc(ms * BYTES_PER_MS);
  for (let at = 0; at < audio.length; at++) audio[at] = (at >> 3) * 31 + (at >> 11) * 7 + seed;
  return audio;
}

/** The samples that mu-law becomes in the WAV file, as bytes. */
export function pcmOf(mulaw: Uint8Array): Buffer {
  const samples = decodeMulaw(mulaw);
  return Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength);
}

/** Reads the whole recording, or a part of the WAV file. */
export async function readWav(
  recordings: Recordings,
  callId: string,
  range?: { first: number; last: number },
): Promise<Buffer> {
  const recording = await recordings.read(callId);
  if (recording === null) throw new Error('There is no recording.');
  return buffer(recording.open(range));
}

/** Reads the samples of a recording, without the header of the file. */
export const readPcm = async (recordings: Recordings, callId: string) =>
  (await readWav(recordings, callId)).subarray(44);

/** The bytes of a call's file that are stored for certain. */
export async function storedBytes({ database }: { database: Database }, fileId: string): Promise<number> {
  const file = await database.recordingFiles.findById(fileId).lean();
  if (file?.objects !== undefined) return file.objects.stored;
  return (await database.connection.collection('recordings.chunks').countDocuments({ files_id: fileId })) * 32_000;
}

/** Everything that is left of a call in both stores, documents of files excepted. */
export async function remainsOf({ database, bucket }: { database: Database; bucket: TestBucket }, callId: string) {
  const chunks = database.connection.collection('recordings.chunks');
  const found = await chunks.find({ files_id: { $regex: `^${callId}` } }, { projection: { _id: 1 } }).toArray();
  return [...found.map(({ _id }) => String(_id)), ...(await bucket.keysWith(callId))];
}
