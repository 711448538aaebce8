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

  const change: Change = async ({ _id, length = 0 }, update, when = {}) => {
    const { matchedCount } = await files.updateOne({ _id, length, forgetAfter: null, ...when }, update);
    return matchedCount > 0;
  };

  /** Whether the file still has to be joined as it is. */
  async function isToJoin({ _id, length = 0 }: RecordingFileDocument): Promise<boolean> {
    return (await files.exists({ _id, length, forgetAfter: null, 'objects.joined': null })) !== null;
  }

  async function isDeleted({ _id }: RecordingFileDocument): Promise<boolean> {
    return (await files.exists({ _id, forgetAfter: null })) === null;
  }

  /** The stored parts of an upload; undefined if there is no such upload. */
  async function partsOf(place: Place, uploadId: string, signal: AbortSignal): Promise<StoredPart[] | undefined> {
    return bucket.uploadedParts(place, uploadId, signal).catch((error: unknown) => {
      if (!isMissing(error)) throw error;
      return undefined;
    });
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
    if (earlier !== undefined && stored === undefined && (await sizeOf(bucket, place, signal)) === length)
      return earlier;
    const uploadId = earlier !== undefined && stored !== undefined ? earlier : await begin(file, place, signal);
    try {
      await uploadParts({ file, place, length, uploadId }, stored ?? [], signal);
    } catch (error) {
      if (!(await isToJoin(file))) {
        await bucket.abortUpload(place, uploadId);
        // A deletion may have aborted the upload while it was completed. Stores report this in different ways, and the object may exist.
        if (await isDeleted(file)) await deleteBelow(place, signal);
      }
      throw error;
    }
    return uploadId;
  }

  /** @returns the length of the joined file */
  async function store(file: RecordingFileDocument, length: number, signal: AbortSignal): Promise<number> {
    const place = joinedPlace(file._id, placeOf(file));
    let uploadId: string | undefined;
    if (length <= PART_BYTES)
      await bucket.put(place, await readSegments(bucket, file, { from: 0, to: length }, signal), signal);
    else uploadId = await upload(file, place, length, signal);
    if ((await sizeOf(bucket, place, signal)) !== length)
      throw new Error(`The joined recording ${file._id} is incomplete.`);
    if (!(await change(file, { $set: { 'objects.joined': true } }))) {
      await deleteBelow(place, signal);
      throw new FileChanged();
    }
    if (uploadId !== undefined) {
      await change(file, { $unset: { 'objects.uploadId': '' } }, { 'objects.uploadId': uploadId });
    }
    return length;
  }

  return {
    async join(file, signal) {
      let { length = 0 } = file;
      try {
        if (length > 0 && !placeOf(file).joined) {
          length = await store(file, length, signal).catch(async (error: unknown) => {
            if (!isMissing(error)) throw error;
            // The segments or the upload may be gone because another process joined the file, or it was deleted.
            if (!(await isToJoin(file))) throw new FileChanged();
            const recovered = await recover({ files, bucket, change }, file, signal);
            if (recovered === undefined) throw error;
            return recovered;
          });
        }
        await deleteBelow(segmentsPlace(file._id, placeOf(file)), signal);
        await change({ ...file, length }, { $unset: { joinAfter: '' } });
      } catch (error) {
        if (!(error instanceof FileChanged)) throw error;
      }
    },
  };
}

/** The file was deleted, written further or joined meanwhile. Another attempt does the rest. */
class FileChanged extends Error {}

/** Changes a file. @returns false if it was deleted, or written further, meanwhile */
type Change = (
  file: RecordingFileDocument,
  update: UpdateQuery<RecordingFileDocument>,
  when?: QueryFilter<RecordingFileDocument>,
) => Promise<boolean>;

/** Size of an object; undefined if it does not exist. */
async function sizeOf(bucket: Bucket, place: Place, signal: AbortSignal): Promise<number | undefined> {
  return bucket.size(place, signal).catch((error: unknown) => {
    if (!isMissing(error)) throw error;
    return undefined;
  });
}

/**
 * Marks a file as joined if its joined object is complete. A database that was restored may be older than the object. If it
 * is even older than the end of the file, the object is longer, and its length is right.
 * @returns its length; undefined if it is not joined
 */
async function recover(
  { files, bucket, change }: { files: VoiceDatabase['recordingFiles']; bucket: Bucket; change: Change },
  file: RecordingFileDocument,
  signal: AbortSignal,
): Promise<number | undefined> {
  const place = joinedPlace(file._id, placeOf(file));
  const length = await sizeOf(bucket, place, signal);
  if (length === undefined || length < (file.length ?? 0)) return undefined;
  const uploadId = (await files.findById(file._id).lean<RecordingFileDocument>())?.objects?.uploadId;
  const joined = { $set: { length, 'objects.joined': true }, $unset: { 'objects.uploadId': '' } };
  if (!(await change(file, joined, { 'objects.joined': null }))) throw new FileChanged();
  if (uploadId !== undefined) await bucket.abortUpload(place, uploadId, signal);
  return length;
}
