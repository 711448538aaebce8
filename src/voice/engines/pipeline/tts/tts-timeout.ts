/** How long TTS may send no audio after it received text, in ms. */
export const TTS_TIMEOUT_MS = 5_000;
