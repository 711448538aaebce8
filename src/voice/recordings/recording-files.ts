import type { VoiceDatabase } from '../database.js';
import { markDeleted } from './deletion-mark.js';
import { callIdOf, possibleFiles } from './file-ids.js';
import { WRITTEN_WITHIN_MS, type RecordingFileDocument } from './model.js';
import type { AudioStore, ObjectStore, Part, ReadOptions } from './stores/port.js';
import type { AudioStores } from './stores/stores.js';

/** When work on a file is tried again after it failed. */
const TRY_AGAIN_AFTER_MS = 5 * 60_000;

export interface DeletionOptions {
  /** Ends requests to object storage. */
  signal?: AbortSignal;
  /** Whether no process can write to the recording any more. */
  endedLongAgo?: boolean;
}

export type RecordingFiles = ReturnType<typeof createRecordingFiles>;

/**
 * Reads and deletes the stored recording files and their audio, and sets the length of unfinished files. Each media
 * stream of a call has one file. A file knows in which store its audio is.
 */
export function createRecordingFiles(database: VoiceDatabase, stores: AudioStores) {
  const files = database.recordingFiles;

  /** The object store, needed for a file that is in one. */
  function objectStore(callId: string): ObjectStore {
    if (stores.objects !== undefined) return stores.objects;
    throw new Error(`The recording of ${callId} is in object storage: set RECORDING_S3_BUCKET.`);
  }

  function storeOf(file: RecordingFileDocument): AudioStore {
    return file.objects === undefined ? stores.chunks : objectStore(callIdOf(file._id));
  }

  /** Deletes the audio of a call in every store. @param known its files */
  async function deleteAudio(
    callId: string,
    known: readonly RecordingFileDocument[],
    signal?: AbortSignal,
  ): Promise<void> {
    await stores.chunks.delete(callId, []);
    const inObjects = known.filter(({ objects }) => objects !== undefined);
    if (inObjects.length === 0 && stores.objects === undefined) return;
    await objectStore(callId).delete(callId, inObjects, signal);
  }

  return {
    files,

    /** The call's files, ordered by stream number. */
    async of(callId: string): Promise<RecordingFileDocument[]> {
      const ids = possibleFiles(callId);
      const found = await files.find({ _id: { $in: ids } }).lean<RecordingFileDocument[]>();
      const present = found.filter(({ forgetAfter }) => forgetAfter === undefined);
      return present.toSorted((a, b) => ids.indexOf(a._id) - ids.indexOf(b._id));
    },

    /** Reads a part of a file piece by piece. @throws Error if audio is missing; the reason of the signal */
    read: (file: RecordingFileDocument, part: Part, options: ReadOptions): AsyncGenerator<Uint8Array> =>
      storeOf(file).read(file, part, options),

    /** Sets the length of an unfinished file to the bytes stored so far. */
    async seal(file: RecordingFileDocument): Promise<void> {
      // A process without access to object storage can do it, too.
      const length = file.objects?.stored ?? (await stores.chunks.storedBytes(file));
      // The process that writes the file may be alive and set another length, so its segments are joined later.
      const joinAfter = new Date(file.uploadDate.getTime() + WRITTEN_WITHIN_MS);
      const sealed = { $set: { length, ...(file.objects && { joinAfter }) }, $unset: { open: '' } };
      // If the process that writes the file has closed it meanwhile, keep its length.
      await files.updateOne({ _id: file._id, open: true }, sealed);
    },

    /** The names of everything that is stored of a call. */
    async list(callId: string): Promise<string[]> {
      return [...(await stores.chunks.list(callId)), ...((await stores.objects?.list(callId)) ?? [])];
    },

    /** Deletes all files that a call can have, and audio that arrived after its file was deleted. */
    async deleteOf(callId: string, { signal, endedLongAgo = false }: DeletionOptions = {}): Promise<void> {
      const ids = { _id: { $in: possibleFiles(callId) } };
      const isMarkKept = await markDeleted(files, callId, { chunkSize: stores.target.segmentBytes, endedLongAgo });
      await deleteAudio(callId, await files.find(ids).lean<RecordingFileDocument[]>(), signal);
      // Delete the documents last: if a sweep is interrupted, the next one still finds the audio. Those of objects stay for
      // a while, because an object that is being sent can arrive after its process has died.
      const unneeded = isMarkKept ? { $in: possibleFiles(callId).filter((id) => id !== callId) } : ids._id;
      await files.deleteMany({ _id: unneeded, objects: { $exists: false } });
    },

    /** Work on files in object storage that happens after they were written or deleted. */
    upkeep: {
      /** Files whose segments can be joined. */
      toJoin: (limit: number): Promise<RecordingFileDocument[]> =>
        files
          .find({ joinAfter: { $lt: new Date() } })
          .sort({ joinAfter: 1 })
          .limit(limit)
          .lean<RecordingFileDocument[]>(),

      join: (file: RecordingFileDocument, signal: AbortSignal): Promise<void> =>
        objectStore(callIdOf(file._id)).join(file, signal),

      /** Ids of calls whose recording was deleted some time ago. */
      async toForget(limit: number): Promise<string[]> {
        const found = await files
          .find({ forgetAfter: { $lt: new Date() } }, { _id: 1 })
          .sort({ forgetAfter: 1 })
          .limit(limit)
          .lean<{ _id: string }[]>();
        return [...new Set(found.map(({ _id }) => callIdOf(_id)))];
      },

      /** Postpones work on a file that failed, so that the other files come before it. */
      async postpone(id: string, work: 'joinAfter' | 'forgetAfter'): Promise<void> {
        const later = new Date(Date.now() + TRY_AGAIN_AFTER_MS);
        const ids = work === 'joinAfter' ? [id] : possibleFiles(id);
        await files.updateMany({ _id: { $in: ids }, [work]: { $exists: true } }, { $set: { [work]: later } });
      },

      /** Deletes what arrived after a call's recording was deleted, and then the documents of the files. */
      async forget(callId: string): Promise<void> {
        const due = { _id: { $in: possibleFiles(callId) }, forgetAfter: { $lt: new Date() } };
        await deleteAudio(callId, await files.find(due).lean<RecordingFileDocument[]>());
        await files.deleteMany(due);
      },
    },
  };
}
