import { Schema } from 'mongoose';

/** Words that a speaker is saying, or that STT may still change. A turn of the transcript replaces them. */
export interface InterimWords {
  speaker: 'agent' | 'caller';
  text: string;
  /** The start of the speaker's last turn when the words were said, in ms; -1 if there was none. */
  afterMs: number;
}

/** The words of a watched call that are not in its transcript yet. Deleted at the end of the call. */
export interface LiveWordsDocument {
  /** The call's id. */
  _id: string;
  /** Until when somebody watches the call. API processes postpone it. */
  watchedUntil: Date;
  words?: InterimWords[];
}

export const liveWordsSchema = new Schema<LiveWordsDocument>(
  {
    _id: String,
    watchedUntil: { type: Date, required: true },
    words: { type: Schema.Types.Mixed },
  },
  { collection: 'live_words', versionKey: false },
);
// If a media process dies, MongoDB deletes the words.
liveWordsSchema.index({ watchedUntil: 1 }, { expireAfterSeconds: 60 });
