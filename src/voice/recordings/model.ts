import { Schema, type mongo } from 'mongoose';

/**
 * One stream's share of a call's recording, in the layout of a GridFS file. Its document comes before its first chunk, so
 * that no chunk is ever without one; its length comes last.
 */
export interface RecordingFileDocument {
  /** The call's id, for later streams with `.<number>` behind it. */
  _id: string;
  /** Bytes of mu-law, both tracks; absent while they are still being written, or were never finished. */
  length?: number;
  chunkSize: number;
  uploadDate: Date;
  filename: string;
  metadata: {
    contentType: 'audio/wav';
    /** Where it begins on the call's time line, in ms; absent: at 0. */
    offsetMs?: number;
  };
  /** Set while there is no length: what the sweep looks for. */
  open?: true;
  /** Of a test call. */
  test?: true;
}

/** `_id` is `<file id>:<n>`: a repeated write cannot double a chunk, and no server needs a further index to find it. */
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

// For the sweep, which walks by age. Embedded servers skip them and scan.
recordingFileSchema.index({ uploadDate: 1 });
recordingFileSchema.index({ open: 1 }, { sparse: true });
recordingFileSchema.index({ test: 1, uploadDate: 1 });
