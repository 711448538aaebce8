import type { AnsweredBy } from '../../../kernel/call-state.js';
import type { SessionTimer } from './kinds.js';

/** The kind of provider that failed: STT, LLM or TTS. */
export type FaultyPart = 'recogniser' | 'model' | 'voice';

/**
 * Input of the reducer. `atMs` counts from the start of the stream on a monotonic clock; `streamMs` is the end of the
 * caller's last audio frame, on the carrier's clock.
 */
export type SessionEvent = { atMs: number } & SessionEventBody;

export type SessionEventBody =
  | { type: 'line_opened' }
  // Voice activity detection (VAD): reported when voice starts, pauses or ends, not for each frame.
  | { type: 'voice_started'; startMs: number; streamMs: number }
  | { type: 'voice_paused'; endMs: number; lastVoiceAtMs: number }
  | { type: 'voice_ended'; streamMs: number }
  // Transcripts of the turn so far, never empty.
  | { type: 'words'; text: string; streamMs: number }
  | { type: 'turn_may_end'; text: string; streamMs: number }
  | { type: 'turn_goes_on' }
  /**
   * `voice` is set if the engine knows when the turn was spoken; otherwise VAD's times apply. `holds` marks turns that
   * are not an answer: `no_words` (the text is only a placeholder) or `greeting` (which a machine may say, too).
   */
  | {
      type: 'turn_ended';
      text: string;
      streamMs: number;
      voice?: { startMs: number; endMs: number };
      holds?: 'no_words' | 'greeting';
    }
  // Turns of a provider that starts replies. It reports the end of a turn at once, and the transcript later.
  | { type: 'turn_over'; endMs: number }
  | { type: 'turn_words'; text: string; startMs: number; endMs: number }
  // State of the STT stream: alive but without words, lost and reconnecting, reconnected.
  | { type: 'recogniser_alive' }
  | { type: 'recogniser_lost' }
  | { type: 'recogniser_reopened' }
  /** Another STT provider takes over, which ends turns in its own way. */
  | { type: 'recogniser_changed'; endsTurns: 'session' | 'engine'; decidedWithinMs: number }
  /** The caller typed a whole turn. */
  | { type: 'turn_typed'; text: string }
  | { type: 'dtmf_digit'; digit: string }
  /** The engine reports that the digits form a complete entry. */
  | { type: 'dtmf_entered' }
  // `reply_begun`: the provider began a reply without a request. `reply_missed`: it did not begin an expected one.
  | { type: 'reply_begun'; replyId: string }
  | { type: 'reply_missed' }
  /** The model has new input to answer, such as tool results. */
  | { type: 'reply_wanted' }
  | { type: 'reply_heard'; replyId: string; times: ReplyTimes }
  /**
   * The reply is the agent's last. `goodbyeBy` is the side that said goodbye; a caller who did should hang up first.
   */
  | { type: 'reply_is_last'; replyId: string; itemId: string; goodbyeBy: 'agent' | 'caller' }
  | { type: 'reply_done'; replyId: string }
  /** Requests to the model were so expensive that they use up this many further replies. */
  | { type: 'replies_charged'; count: number }
  | { type: 'reply_failed'; replyId: string; part: FaultyPart; message: string }
  | {
      type: 'tool_called';
      replyId: string;
      toolCallId: string;
      name: string;
      arguments: Record<string, unknown> | null;
    }
  /** `endsCall`: after this tool, such as end_call, the agent says nothing more. */
  | { type: 'tool_finished'; endsCall: boolean; ok: boolean }
  // Items of the agent's speech. `replyId` is absent for sentences that the session requested. `ms`: length of the
  // audio.
  | { type: 'item_audio'; itemId: string; replyId?: string; ms: number }
  | { type: 'item_whole'; itemId: string }
  | { type: 'item_failed'; itemId: string; part: FaultyPart; message: string }
  | { type: 'item_played'; itemId: string; playedMs: number; complete: boolean }
  | { type: 'item_words'; itemId: string; text: string; complete: boolean; startMs: number; endMs: number }
  | { type: 'tone_heard'; streamMs: number }
  /** The engine's own detection reports an answering machine. */
  | { type: 'machine_heard' }
  | { type: 'answered_by'; who: AnsweredBy }
  | { type: 'ending_soon'; secondsLeft: number }
  /** `provider_lost`: the connection is being restored. `provider_back`: the provider has the chat history again. */
  | { type: 'provider_lost' }
  | { type: 'provider_back' }
  | { type: 'provider_gone'; part: FaultyPart; message: string }
  | { type: 'timer'; timer: SessionTimer }
  | { type: 'stopped' };

/** When a reply began, and when its first sentence and audio were ready; in ms from the start of the stream. */
export interface ReplyTimes {
  startedMs: number;
  firstSentenceMs?: number;
  firstAudioMs?: number;
}
