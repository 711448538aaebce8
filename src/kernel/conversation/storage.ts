/** The storage modes of an agent. All but `everything` leave out a part of its calls. */
export const STORAGE_MODES = ['everything', 'no_recording', 'no_transcript', 'outcome_only'] as const;
export type StorageMode = (typeof STORAGE_MODES)[number];

/** Kinds of data that can be replaced in the stored words of a call. */
export const REDACTED_KINDS = ['card_numbers', 'phone_numbers', 'email_addresses'] as const;
export type RedactedKind = (typeof REDACTED_KINDS)[number];

interface Kept {
  recording: boolean;
  /** Turns, tool calls and session logs. */
  words: boolean;
  summary: boolean;
}

const KEPT: Readonly<Record<StorageMode, Kept>> = {
  everything: { recording: true, words: true, summary: true },
  no_recording: { recording: false, words: true, summary: true },
  no_transcript: { recording: true, words: false, summary: true },
  outcome_only: { recording: false, words: false, summary: false },
};

/** Stands in place of the summary if none is kept, because every webhook of a conversation has one. */
export const WITHHELD_SUMMARY = 'The agent of this call keeps no summary.';

/** Returns what remains of a conversation after its end. Extracted values always do. */
export function keptBy(mode: StorageMode = 'everything'): Kept {
  return KEPT[mode];
}
