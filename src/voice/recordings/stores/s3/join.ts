import type { QueryFilter, UpdateQuery } from 'mongoose';
import type { VoiceDatabase } from '../../../database.js';
import type { RecordingFileDocument } from '../../model.js';
import type { ObjectStore } from '../port.js';
import type { Bucket } from './bucket.js';
import { joinedPlace, placeOf, SEGMENT_BYTES, segmentsPlace } from './keys.js';
import { readSegments } from './read-segments.js';
import { isMissing, type Place } from './requests.js';
import type { StoredPart, UploadedPart } from './uploads.js';

const SEGMENTS_PER_PART = 66;
/** Parts of a multipart upload have at least 5 MiB. */
const PART_BYTES = SEGMENTS_PER_PART * SEGMENT_BYTES;

/**
 * Makes one object of a file's segments. A long file is uploaded in parts. The id of the upload is in the file's document,
 * so that a later attempt continues after the last part. Two processes may join a file at once: both write the same
 * bytes, and only the upload whose id is in the document lasts. An upload that a crash leaves without its id in the
 * document has no parts, and is aborted when the call's audio is deleted.
 */
export function createJoin(p: {
  files: VoiceDatabase['recordingFiles'];
  bucket: Bucket;
  deleteBelow: (place: Place, signal?: AbortSignal) => Promise<void>;
}): Pick<ObjectStore, 'join'> {
  const { files, bucket, deleteBelow } = p;

  /** Changes the file unless it was deleted, or written further, meanwhile. */
  async function change(
    { _id, length = 0 }: RecordingFileDocument,
    update: UpdateQuery<RecordingFileDocument>,
    when: QueryFilter<RecordingFileDocument> = {},
  ): Promise<boolean> {
    const { matchedCount } = await files.updateOne({ _id, length, forgetAfter: null, ...when }, update);
    return matchedCount > 0;
  }

  /** Whether the file still has to be joined as it is. */
  async function isToJoin({ _id, length = 0 }: RecordingFileDocument): Promise<boolean> {
    return (await files.exists({ _id, length, forgetAfter: null, 'objects.joined': null })) !== null;
  }

  /** The stored parts of an upload; undefined if there is no such upload. */
  async function partsOf(place: Place, uploadId: string, signal: AbortSignal): Promise<StoredPart[] | undefined> {
    return bucket.uploadedParts(place, uploadId, signal).catch((error: unknown) => {
      if (!isMissing(error)) throw error;
      return undefined;
    });
  }

  async function isStored(place: Place, length: number, signal: AbortSignal): Promise<boolean> {
    const size = await bucket.size(place, signal).catch((error: unknown) => {
      if (!isMissing(error)) throw error;
    });
    return size === length;
  }

  /** Begins an upload in the place of an earlier one that no longer exists. */
  async function begin(file: RecordingFileDocument, place: Place, signal: AbortSignal): Promise<string> {
    const uploadId = await bucket.beginUpload(place, signal);
    const unchanged = { 'objects.uploadId': placeOf(file).uploadId ?? null, 'objects.joined': null };
    if (await change(file, { $set: { 'objects.uploadId': uploadId } }, unchanged)) return uploadId;
    await bucket.abortUpload(place, uploadId);
    throw new FileChanged();
  }

  /** Uploads the parts that are missing, and completes the upload. */
  async function uploadParts(
    { file, place, length, uploadId }: { file: RecordingFileDocument; place: Place; length: number; uploadId: string },
    stored: readonly StoredPart[],
    signal: AbortSignal,
  ): Promise<void> {
    const parts: UploadedPart[] = [];
    for (let from = 0; from < length; from += PART_BYTES) {
      const [number, size] = [parts.length + 1, Math.min(PART_BYTES, length - from)];
      const earlier = stored.find(({ PartNumber, Size }) => PartNumber === number && Size === size);
      if (earlier !== undefined) parts.push({ PartNumber: number, ETag: earlier.ETag });
      else {
        const data = await readSegments(bucket, file, { from, to: from + size }, signal);
        parts.push(await bucket.uploadPart(place, { uploadId, number, data }, signal));
      }
    }
    await bucket.completeUpload(place, uploadId, parts, signal);
  }

  /** Uploads the file in parts. A failure keeps them for the next attempt. @returns the upload's id */
  async function upload(file: RecordingFileDocument, place: Place, length: number, signal: AbortSignal) {
    const { uploadId: earlier } = placeOf(file);
    const stored = earlier === undefined ? undefined : await partsOf(place, earlier, signal);
    // An upload that no longer exists was completed or aborted.
    if (earlier !== undefined && stored === undefined && (await isStored(place, length, signal))) return earlier;
    const uploadId = earlier !== undefined && stored !== undefined ? earlier : await begin(file, place, signal);
    try {
      await uploadParts({ file, place, length, uploadId }, stored ?? [], signal);
    } catch (error) {
      if (isMissing(error) && !(await isToJoin(file))) await bucket.abortUpload(place, uploadId);
      throw error;
    }
    return uploadId;
  }

  async function store(file: RecordingFileDocument, length: number, signal: AbortSignal): Promise<void> {
    const place = joinedPlace(file._id, placeOf(file));
    let uploadId: string | undefined;
    if (length <= PART_BYTES)
      await bucket.put(place, await readSegments(bucket, file, { from: 0, to: length }, signal), signal);
    else uploadId = await upload(file, place, length, signal);
    if (!(await isStored(place, length, signal))) throw new Error(`The joined recording ${file._id} is incomplete.`);
    if (!(await change(file, { $set: { 'objects.joined': true } }))) {
      await deleteBelow(place, signal);
      throw new FileChanged();
    }
    if (uploadId !== undefined) {
      await change(file, { $unset: { 'objects.uploadId': '' } }, { 'objects.uploadId': uploadId });
    }
  }

  return {
    async join(file, signal) {
      const { length = 0 } = file;
      try {
        if (length > 0 && !placeOf(file).joined) {
          await store(file, length, signal).catch(async (error: unknown) => {
            // The segments or the upload may be gone because another process joined the file, or it was deleted.
            throw isMissing(error) && !(await isToJoin(file)) ? new FileChanged() : error;
          });
        }
        await deleteBelow(segmentsPlace(file._id, placeOf(file)), signal);
        await change(file, { $unset: { joinAfter: '' } });
      } catch (error) {
        if (!(error instanceof FileChanged)) throw error;
      }
    },
  };
}

/** The file was deleted, written further or joined meanwhile. Another attempt does the rest. */
class FileChanged extends Error {}
