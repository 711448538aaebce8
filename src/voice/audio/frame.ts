/** Milliseconds of one frame of audio. */
export const FRAME_MS = 20;

/** Bytes of one frame: mu-law at 8 kHz. */
export const FRAME_BYTES = 160;
