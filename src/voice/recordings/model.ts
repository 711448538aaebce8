import { Schema, type mongo } from 'mongoose';

/** The place of audio that is not in MongoDB, kept with its file so that it is found after a change of settings. */
export interface RecordingObjects {
  bucket: string;
  /** Beginning of all keys. */
  prefix: string;
  /** Bytes of mu-law that are stored and confirmed. */
  stored: number;
  /** Set once one object holds the whole file. */
  joined?: true;
  /** The multipart upload of the joined object, until it is complete. */
  uploadId?: string;
}

/**
 * The recording of one media stream, in the layout of a GridFS file. The document is written before the first chunk, so
 * that every chunk belongs to a document. The length is written last.
 */
export interface RecordingFileDocument {
  /** The call's id. For streams after the first, `.<stream number>` follows. */
  _id: string;
  /** Bytes of mu-law, both tracks; absent while writing is in progress, or if it never finished. */
  length?: number;
  chunkSize: number;
  uploadDate: Date;
  filename: string;
  metadata: {
    contentType: 'audio/wav';
    /** Start on the call's timeline, in ms; absent means 0. */
    offsetMs?: number;
  };
  /** Set while `length` is absent. The sweep of old recordings queries this field. */
  open?: true;
  /** Set for test calls. */
  test?: true;
  /** Set if the audio is in object storage; otherwise it is in chunks. */
  objects?: RecordingObjects;
  /** When the segments in object storage may be joined to one object; absent while they are written and afterwards. */
  joinAfter?: Date;
  /**
   * Set when the file is deleted: when to look for audio that arrived later, and delete this document, too. The file of a
   * call's first stream then stands for the whole call, and is created if it did not exist.
   */
  forgetAfter?: Date;
  /** The waveform of the whole recording, in the file of the first stream; absent until somebody has read it. */
  waveform?: {
    /** Bytes of mu-law of the recording from which it was computed. With other bytes it is out of date. */
    bytes: number;
    /** The caller's and the agent's peak of each part, one byte each. */
    peaks: mongo.Binary;
  };
}

/** No stream lasts this long, so no process still writes a file of this age. */
export const WRITTEN_WITHIN_MS = 6 * 60 * 60_000;

/** The fields that every file has from the beginning. */
export function newFile({ id, chunkSize, offsetMs }: { id: string; chunkSize: number; offsetMs: number }) {
  const metadata = { contentType: 'audio/wav' as const, offsetMs };
  return { _id: id, chunkSize, uploadDate: new Date(), filename: `${id}.wav`, metadata };
}

/** `_id` is `<file id>:<n>`, so that a repeated write cannot duplicate a chunk and reads need no other index. */
export interface RecordingChunkDocument {
  _id: string;
  files_id: string;
  n: number;
  data: mongo.Binary;
}

export const recordingFileSchema = new Schema<RecordingFileDocument>(
  {
    _id: String,
    length: Number,
    chunkSize: { type: Number, required: true },
    uploadDate: { type: Date, required: true },
    filename: String,
    metadata: { type: Object, required: true },
    open: Boolean,
    test: Boolean,
    objects: { type: Schema.Types.Mixed },
    joinAfter: Date,
    forgetAfter: Date,
    waveform: { type: Schema.Types.Mixed },
  },
  { collection: 'recordings.files', versionKey: false },
);

// The sweep of old recordings needs these indexes, because it queries by age. Embedded servers scan instead.
recordingFileSchema.index({ uploadDate: 1 });
recordingFileSchema.index({ open: 1 }, { sparse: true });
recordingFileSchema.index({ test: 1, uploadDate: 1 });
recordingFileSchema.index({ joinAfter: 1 }, { sparse: true });
recordingFileSchema.index({ forgetAfter: 1 }, { sparse: true });
// GridFS's own index, which other programs that read the files rely on.
recordingFileSchema.index({ filename: 1, uploadDate: 1 });

/** Declares the index of the chunks. They are read and written by the driver's collection. */
export const recordingChunkSchema = new Schema<RecordingChunkDocument>(
  { _id: String, files_id: String, n: Number, data: Buffer },
  { collection: 'recordings.chunks', versionKey: false },
);
// GridFS's own, too, but not unique: `_id` contains both, and the collection can then be sharded by `_id`.
recordingChunkSchema.index({ files_id: 1, n: 1 });
