import type { TurnLatency } from '../port.js';
import type { ReplyTimes } from '../../session/reducer/events.js';

/** A caller's wait for a reply; in ms from the start of the stream. */
export interface Waiting {
  /** The end of the caller's speech. */
  sinceMs: number;
  /** When the session knew the whole turn. */
  knownMs: number;
}

/**
 * Breaks down the time between the caller's last word and the first audio of the reply. Work that LLM and TTS did
 * before the turn was known to be complete cost the caller no time and is not counted.
 */
export function measureLatency({ sinceMs, knownMs }: Waiting, times: ReplyTimes, nowMs: number): TurnLatency {
  const audioMs = Math.max(times.firstAudioMs ?? nowMs, knownMs);
  const sentenceMs = Math.min(audioMs, Math.max(times.firstSentenceMs ?? audioMs, knownMs));
  const startedMs = Math.min(sentenceMs, Math.max(times.startedMs, knownMs));
  const totalMs = Math.max(0, nowMs - sinceMs);
  const recogniser = Math.min(totalMs, Math.max(0, knownMs - sinceMs));
  const model = sentenceMs - startedMs;
  const voice = audioMs - sentenceMs;
  const own = Math.max(0, totalMs - recogniser - model - voice);
  const parts = { recogniser, model, voice, own };
  return {
    atMs: Math.round(nowMs),
    totalMs: Math.round(totalMs),
    parts: Object.fromEntries(Object.entries(parts).map(([name, ms]) => [name, Math.round(ms)])),
    begunMs: { recogniser: sinceMs, model: startedMs, voice: sentenceMs },
  };
}
