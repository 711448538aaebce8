import type { VoiceDatabase } from '../../../database.js';
import { possibleFiles } from '../../file-ids.js';
import type { RecordingFileDocument } from '../../model.js';
import type { ObjectStore, Part, ReadOptions, StoredSegment } from '../port.js';
import type { Bucket, ListedObject, ObjectPage } from './bucket.js';
import { createJoin } from './join.js';
import { callPlace, joinedPlace, placeOf, SEGMENT_BYTES, segmentPlace } from './keys.js';
import { isMissing, type Place } from './requests.js';
import { callsIn } from './stored-calls.js';

const PIECE_BYTES = 256_000;
const PIECE_IN_BULK_BYTES = 1_024_000;
/** A converted block has four times this size and blocks the process while it is converted. */
const YIELDED_BYTES = 32_000;
const KEYS_PER_DELETION = 1_000;

/**
 * Stores audio in S3: each segment is an object below the key of its file, and after the end of the file one object holds
 * all of it.
 */
export function createObjectStore(p: { files: VoiceDatabase['recordingFiles']; bucket: Bucket }): ObjectStore {
  const { files, bucket } = p;
  const { bucket: name, prefix } = bucket.settings;
  const home = { bucket: name, prefix };

  /** Confirms that the first bytes of a file are stored. @returns false if the file was deleted */
  async function confirm(file: string, bytes: number): Promise<boolean> {
    const filter = { _id: file, forgetAfter: null };
    const { matchedCount } = await files.updateOne(filter, { $max: { 'objects.stored': bytes } });
    return matchedCount > 0;
  }

  async function put({ file, n, data }: StoredSegment): Promise<boolean> {
    // The process knows no other place of a file that it writes.
    const place = segmentPlace(file, home, n);
    await bucket.put(place, data);
    if (await confirm(file, n * SEGMENT_BYTES + data.length)) return true;
    await deleteBelow(place);
    return false;
  }

  async function* objectsBelow(place: Place, signal?: AbortSignal): AsyncGenerator<ListedObject[]> {
    let page: ObjectPage | undefined;
    do {
      page = await bucket.list(place, page, signal);
      yield page.objects;
    } while (page.next !== undefined);
  }

  async function deleteBelow(place: Place, signal?: AbortSignal): Promise<void> {
    for await (const objects of objectsBelow(place, signal)) {
      for (let at = 0; at < objects.length; at += KEYS_PER_DELETION) {
        await bucket.delete(place.bucket, objects.slice(at, at + KEYS_PER_DELETION), signal);
      }
    }
  }

  /** Reads a piece of a file, from one object. @param bytes at most so many */
  async function readPiece(file: RecordingFileDocument, part: Part, bytes: number, signal: AbortSignal) {
    const at = placeOf(file);
    if (at.joined) {
      const to = Math.min(part.to, part.from + bytes);
      return bucket.get(joinedPlace(file._id, at), { from: part.from, to }, signal);
    }
    const n = Math.floor(part.from / SEGMENT_BYTES);
    const start = n * SEGMENT_BYTES;
    const to = Math.min(part.to - start, SEGMENT_BYTES);
    return bucket.get(segmentPlace(file._id, at, n), { from: part.from - start, to }, signal);
  }

  async function* read(given: RecordingFileDocument, { from, to }: Part, { signal, inBulk }: ReadOptions) {
    const atOnce = inBulk === true ? PIECE_IN_BULK_BYTES : PIECE_BYTES;
    let file = given;
    for (let at = from; at < to;) {
      const piece = await readPiece(file, { from: at, to }, atOnce, signal).catch(async (error: unknown) => {
        if (!isMissing(error) || file.objects?.joined) throw error;
        const now = await files.findOne({ _id: file._id, forgetAfter: null }).lean<RecordingFileDocument>();
        if (now?.objects === undefined) throw error;
        // The segments were joined meanwhile, or before the database was restored to an earlier time.
        file = { ...now, objects: { ...now.objects, joined: true } };
        return readPiece(file, { from: at, to }, atOnce, signal).catch((second: unknown) => {
          throw isMissing(second) ? error : second;
        });
      });
      for (let done = 0; done < piece.length; done += YIELDED_BYTES) yield piece.subarray(done, done + YIELDED_BYTES);
      at += piece.length;
    }
  }

  /** Everything of a call, in each place where one of its files is and in the configured one. */
  function placesOf(callId: string, known: readonly RecordingFileDocument[]): Place[] {
    const places = [home, ...known.map(placeOf)].map((at) => callPlace(callId, at));
    return places.filter(
      ({ bucket: a, key }, index) => places.findIndex((other) => other.bucket === a && other.key === key) === index,
    );
  }

  return {
    segmentBytes: SEGMENT_BYTES,
    place: () => ({ objects: { ...home, stored: 0 } }),
    put,
    read,
    ...createJoin({ files, bucket, deleteBelow }),

    async list(callId) {
      const keys: string[] = [];
      const ofCall = { _id: { $in: possibleFiles(callId) }, objects: { $exists: true } };
      for (const place of placesOf(callId, await files.find(ofCall).lean<RecordingFileDocument[]>())) {
        for await (const objects of objectsBelow(place)) keys.push(...objects.map(({ Key }) => Key));
      }
      return keys;
    },

    storedCalls: () => callsIn(objectsBelow({ bucket: name, key: prefix }), prefix),

    async delete(callId, known, signal) {
      for (const file of known) {
        const { uploadId } = placeOf(file);
        if (uploadId !== undefined) await bucket.abortUpload(joinedPlace(file._id, placeOf(file)), uploadId, signal);
      }
      for (const place of placesOf(callId, known)) {
        // Those whose process died before it stored their id.
        for (const { key, uploadId } of await bucket.uploadsBelow(place, signal)) {
          await bucket.abortUpload({ bucket: place.bucket, key }, uploadId, signal);
        }
        // Afterwards, because an upload may have been completed until it was aborted.
        await deleteBelow(place, signal);
      }
    },
  };
}
