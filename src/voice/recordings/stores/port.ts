import type { RecordingFileDocument } from '../model.js';

/** The bytes `from` to `to` of a file, `to` excluded. */
export interface Part {
  from: number;
  to: number;
}

export interface ReadOptions {
  /** Ends the reading, and the request that is in progress. */
  signal: AbortSignal;
  /**
   * Whether the whole file is needed soon. Then up to 1 MB is read at once, but never more than one segment of a file in
   * object storage that is not joined yet.
   */
  inBulk?: boolean;
}

/** One segment of a file's audio. All segments but the last have the store's size. */
export interface StoredSegment {
  /** The file's id. */
  file: string;
  /** Its number, from 0. */
  n: number;
  data: Uint8Array;
}

/**
 * Stores the audio of recordings. The files themselves (to which call they belong, how long they are, when they expire)
 * are documents in MongoDB whatever the store: a file's document exists before its first segment.
 */
export interface AudioStore {
  /** Size of a segment. A segment that is not full is lost if the process dies. */
  readonly segmentBytes: number;

  /** The field of a new file that says where its audio is. */
  place(): Pick<RecordingFileDocument, 'objects'>;

  /**
   * Stores a segment. A repeat changes nothing.
   * @returns false if the file is known to be deleted; then nothing of it remains. A store looks at least every ten
   *   seconds of audio; the process that writes the file looks once more when it closes it
   */
  put(segment: StoredSegment): Promise<boolean>;

  /**
   * Reads a part of a file piece by piece, with bounded memory.
   * @throws Error if audio is missing; the reason of the signal
   */
  read(file: RecordingFileDocument, part: Part, options: ReadOptions): AsyncGenerator<Uint8Array>;

  /** The names of everything that the store holds of a call, whether or not it has a file. */
  list(callId: string): Promise<string[]>;

  /**
   * Deletes everything that the store holds of a call, also where no file says so. Succeeds if there is nothing.
   * @param files the call's files in this store, as far as known
   * @param signal ends the deletion, which a repeat continues
   */
  delete(callId: string, files: readonly RecordingFileDocument[], signal?: AbortSignal): Promise<void>;
}

/** A store whose segments are documents in MongoDB. */
export interface ChunkStore extends AudioStore {
  /** The bytes stored so far of a file without a length, without gaps from its beginning. */
  storedBytes(file: RecordingFileDocument): Promise<number>;
}

/** All objects of a call, whether or not it has a file. */
export interface StoredCall {
  callId: string;
  objects: number;
  bytes: number;
  /** When the newest object was stored. */
  newestAt: Date;
}

/** A store whose segments are objects, which are joined once the file is complete. Files count their confirmed bytes. */
export interface ObjectStore extends AudioStore {
  /**
   * Makes one object of the file's segments and deletes these. A repeat continues where an earlier attempt stopped.
   * @throws the reason of the signal; another error if it must be tried again
   */
  join(file: RecordingFileDocument, signal: AbortSignal): Promise<void>;

  /** Passes through all calls in the place of new files, some at a time. Objects that belong to no call are left out. */
  storedCalls(): AsyncGenerator<StoredCall[]>;
}
