import type { UpdateQuery } from 'mongoose';
import type { VoiceDatabase } from '../../../database.js';
import type { RecordingFileDocument } from '../../model.js';
import type { AudioStore } from '../port.js';
import type { Bucket, Place } from './bucket.js';
import { joinedPlace, placeOf, SEGMENT_BYTES, segmentsPlace } from './keys.js';

/** Parts of a multipart upload have at least 5 MiB. */
const PART_BYTES = 66 * SEGMENT_BYTES;

/**
 * Makes one object of a file's segments. Each step is stored in the file's document before the next, so that a crash
 * leaves nothing that a repeat or the deletion of the file does not find. Two processes may join a file at once, because
 * both write the same bytes.
 */
export function createJoin(p: {
  files: VoiceDatabase['recordingFiles'];
  bucket: Bucket;
  read: AudioStore['read'];
  deleteBelow: (place: Place) => Promise<void>;
}) {
  const { files, bucket, read, deleteBelow } = p;

  /** Changes the file unless it was deleted, or written further, meanwhile. */
  async function change(
    { _id, length = 0 }: RecordingFileDocument,
    update: UpdateQuery<RecordingFileDocument>,
  ): Promise<boolean> {
    const { matchedCount } = await files.updateOne({ _id, length, forgetAfter: null }, update);
    return matchedCount > 0;
  }

  async function* partsOf(file: RecordingFileDocument, length: number): AsyncGenerator<Uint8Array> {
    const { signal } = new AbortController();
    for (let from = 0; from < length; from += PART_BYTES) {
      const part = new Uint8Array(Math.min(PART_BYTES, length - from));
      let filled = 0;
      for await (const data of read(file, { from, to: from + part.length }, { signal, inBulk: true })) {
        part.set(data, filled);
        filled += data.length;
      }
      yield part;
    }
  }

  async function upload(file: RecordingFileDocument, place: Place, length: number): Promise<void> {
    const { uploadId: earlier } = placeOf(file);
    if (earlier !== undefined) await bucket.abortUpload(place, earlier);
    const uploadId = await bucket.beginUpload(place);
    try {
      // An upload without parts contains no audio, so its id can be stored after it has begun.
      if (!(await change(file, { $set: { 'objects.uploadId': uploadId } }))) throw new FileChanged();
      const parts: { PartNumber: number; ETag: string }[] = [];
      for await (const data of partsOf(file, length)) {
        parts.push(await bucket.uploadPart(place, uploadId, parts.length + 1, data));
      }
      await bucket.completeUpload(place, uploadId, parts);
    } catch (error) {
      await bucket.abortUpload(place, uploadId).catch(() => undefined);
      throw error;
    }
  }

  async function store(file: RecordingFileDocument, length: number): Promise<void> {
    const place = joinedPlace(file._id, placeOf(file));
    if (length <= PART_BYTES) for await (const data of partsOf(file, length)) await bucket.put(place, data);
    else await upload(file, place, length);
    const size = await bucket.size(place);
    if (size !== length) throw new Error(`The joined recording ${file._id} has ${size} bytes instead of ${length}.`);
    const joined = { $set: { 'objects.joined': true as const }, $unset: { 'objects.uploadId': '' } };
    if (await change(file, joined)) return;
    await deleteBelow(place);
    throw new FileChanged();
  }

  return {
    async join(file: RecordingFileDocument): Promise<void> {
      const { length = 0 } = file;
      try {
        if (length > 0 && !placeOf(file).joined) await store(file, length);
        await deleteBelow(segmentsPlace(file._id, placeOf(file)));
        await change(file, { $unset: { joinAfter: '' } });
      } catch (error) {
        if (!(error instanceof FileChanged)) throw error;
      }
    },
  };
}

/** The file was deleted or written further while it was joined. Nothing is left to do. */
class FileChanged extends Error {}
