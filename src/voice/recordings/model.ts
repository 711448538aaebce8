import { Schema, type mongo } from 'mongoose';

/**
 * The recording of one media stream, in the layout of a GridFS file. The document is written before the first chunk, so
 * that every chunk has one; its length is written last.
 */
export interface RecordingFileDocument {
  /** The call's id; for later streams followed by `.<stream number>`. */
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
  /** Set while `length` is absent; the retention sweep queries it. */
  open?: true;
  /** Set for test calls. */
  test?: true;
}

/** `_id` is `<file id>:<n>`: a repeated write cannot duplicate a chunk, and reads need no further index. */
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
  },
  { collection: 'recordings.files', versionKey: false },
);

// For the retention sweep, which queries by age. Embedded servers skip these indexes and scan.
recordingFileSchema.index({ uploadDate: 1 });
recordingFileSchema.index({ open: 1 }, { sparse: true });
recordingFileSchema.index({ test: 1, uploadDate: 1 });
