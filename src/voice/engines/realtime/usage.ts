import type { RealtimeUsage } from './protocol.js';

/** The units of one response's usage. Input counts include cached tokens, which have separate prices. */
export function unitsOf({ input_token_details: input, output_token_details: output }: RealtimeUsage) {
  const cachedText = input?.cached_tokens_details?.text_tokens ?? 0;
  const cachedAudio = input?.cached_tokens_details?.audio_tokens ?? 0;
  return {
    realtime_input_text_tokens: Math.max(0, (input?.text_tokens ?? 0) - cachedText),
    realtime_input_audio_tokens: Math.max(0, (input?.audio_tokens ?? 0) - cachedAudio),
    realtime_cached_text_tokens: cachedText,
    realtime_cached_audio_tokens: cachedAudio,
    realtime_output_text_tokens: output?.text_tokens ?? 0,
    realtime_output_audio_tokens: output?.audio_tokens ?? 0,
  };
}

/** The units of one transcription's usage: tokens or seconds, depending on the model's billing. */
export function transcriptionUnitsOf(usage: {
  seconds?: number | null | undefined;
  input_tokens?: number | null | undefined;
  output_tokens?: number | null | undefined;
}) {
  return {
    transcription_seconds: usage.seconds ?? 0,
    transcription_input_tokens: usage.input_tokens ?? 0,
    transcription_output_tokens: usage.output_tokens ?? 0,
  };
}
