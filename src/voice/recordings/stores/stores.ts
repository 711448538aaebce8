import type { Config } from '../../../platform/config/config.js';
import type { VoiceDatabase } from '../../database.js';
import { createChunkStore } from './mongodb/chunk-store.js';
import type { AudioStore, ChunkStore, ObjectStore } from './port.js';
import { createBucket } from './s3/bucket.js';
import { createObjectStore } from './s3/object-store.js';

/** The stores that hold audio. New recordings go to one; the other still has those from before the setting changed. */
export interface AudioStores {
  chunks: ChunkStore;
  /** Absent if none is configured. */
  objects?: ObjectStore;
  /** Where new recordings are stored. */
  target: AudioStore;
}

/** Creates the configured stores. Without a bucket, recordings are in MongoDB. */
export function createAudioStores(
  database: VoiceDatabase,
  { store, s3 }: Partial<Pick<Config['recordings'], 'store' | 's3'>> = {},
): AudioStores {
  const chunks = createChunkStore(database);
  if (s3 === undefined) return { chunks, target: chunks };
  const objects = createObjectStore({ files: database.recordingFiles, bucket: createBucket(s3) });
  return { chunks, objects, target: store === 's3' ? objects : chunks };
}
