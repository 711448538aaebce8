import type { UsageMeter } from '../engine-usage.js';
import type { RealtimeUsage } from './protocol.js';

/** Adds the usage of one response. Input counts include cached tokens, which have separate prices. */
export function addResponse(meter: UsageMeter, usage: RealtimeUsage): void {
  const { input_token_details: input, output_token_details: output } = usage;
  const cachedText = input?.cached_tokens_details?.text_tokens ?? 0;
  const cachedAudio = input?.cached_tokens_details?.audio_tokens ?? 0;
  meter.add('realtime_input_text_tokens', (input?.text_tokens ?? 0) - cachedText);
  meter.add('realtime_input_audio_tokens', (input?.audio_tokens ?? 0) - cachedAudio);
  meter.add('realtime_cached_text_tokens', cachedText);
  meter.add('realtime_cached_audio_tokens', cachedAudio);
  meter.add('realtime_output_text_tokens', output?.text_tokens);
  meter.add('realtime_output_audio_tokens', output?.audio_tokens);
}

/** Adds the usage of one transcription: tokens or seconds, depending on the model's billing. */
export function addTranscription(
  meter: UsageMeter,
  usage: { seconds?: number | undefined; input_tokens?: number | undefined; output_tokens?: number | undefined },
): void {
  meter.add('transcription_seconds', usage.seconds);
  meter.add('transcription_input_tokens', usage.input_tokens);
  meter.add('transcription_output_tokens', usage.output_tokens);
}
