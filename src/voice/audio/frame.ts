/** Length of one audio frame in milliseconds. */
export const FRAME_MS = 20;

/** Bytes per frame: 20 ms of mu-law at 8 kHz. */
export const FRAME_BYTES = 160;
