import type { AnsweredBy } from '../../../kernel/call-state.js';
import type { SessionTimer } from './kinds.js';

/** Which provider behind the engine an event is about. */
export type FaultyPart = 'recogniser' | 'model' | 'voice';

/**
 * What happens to a session. `atMs` counts from the start of the stream on a clock that never steps; `streamMs` is the end
 * of the last frame of the caller's audio, on the carrier's clock.
 */
export type SessionEvent = { atMs: number } & SessionHappening;

export type SessionHappening =
  | { type: 'line_opened' }
  // Voice detection: transitions, never frames.
  | { type: 'voice_started'; startMs: number; streamMs: number }
  | { type: 'voice_paused'; endMs: number; lastVoiceAtMs: number }
  | { type: 'voice_ended'; streamMs: number }
  // Transcripts of the turn so far. They are never empty.
  | { type: 'words'; text: string; streamMs: number }
  | { type: 'turn_may_end'; text: string; streamMs: number }
  | { type: 'turn_goes_on' }
  /**
   * `voice` is the turn's where the engine knows it, else it is what voice detection reported. `holds`, where it is no
   * plain answer: `no_words`, the text only stands for them; `greeting`, which machines say, too.
   */
  | {
      type: 'turn_ended';
      text: string;
      streamMs: number;
      voice?: { startMs: number; endMs: number };
      holds?: 'no_words' | 'greeting';
    }
  // Turns of a provider that starts replies: it hears their end before it knows their words, which may come very late.
  | { type: 'turn_over'; endMs: number }
  | { type: 'turn_words'; text: string; startMs: number; endMs: number }
  // The recognizer: alive but without words, lost and being opened again, open again.
  | { type: 'recogniser_alive' }
  | { type: 'recogniser_lost' }
  | { type: 'recogniser_reopened' }
  | { type: 'dtmf_digit'; digit: string }
  /** What was pressed is a whole entry; of an engine that knows what is asked. */
  | { type: 'dtmf_entered' }
  // Replies of the model. `reply_begun`: the provider began one by itself; `reply_missed`: it did not begin the one it owed.
  | { type: 'reply_begun'; replyId: string }
  | { type: 'reply_missed' }
  /** The model has been told something that it is to answer, such as what tools brought. */
  | { type: 'reply_wanted' }
  | { type: 'reply_heard'; replyId: string; times: ReplyMoments }
  /** This reply is the agent's last, and whose goodbye it is: a caller who said it hangs up. */
  | { type: 'reply_is_last'; replyId: string; itemId: string; goodbyeBy: 'agent' | 'caller' }
  | { type: 'reply_done'; replyId: string }
  | { type: 'reply_failed'; replyId: string; part: FaultyPart; message: string }
  | {
      type: 'tool_called';
      replyId: string;
      toolCallId: string;
      name: string;
      arguments: Record<string, unknown> | null;
    }
  /** `endsCall`: a tool after which nothing is said any more, such as end_call. */
  | { type: 'tool_finished'; endsCall: boolean; ok: boolean }
  // Items on the line. `replyId` is absent for lines the session asked for itself. Audio is told of by its length.
  | { type: 'item_audio'; itemId: string; replyId?: string; ms: number }
  | { type: 'item_whole'; itemId: string }
  | { type: 'item_failed'; itemId: string; part: FaultyPart; message: string }
  | { type: 'item_played'; itemId: string; playedMs: number; complete: boolean }
  | { type: 'item_words'; itemId: string; text: string; complete: boolean; startMs: number; endMs: number }
  | { type: 'tone_heard'; streamMs: number }
  /** The engine's own ear takes what answered for a machine. */
  | { type: 'machine_heard' }
  | { type: 'answered_by'; who: AnsweredBy }
  | { type: 'ending_soon'; secondsLeft: number }
  /** A provider that starts replies went away and is dialed again; there again, and told of what was said. */
  | { type: 'provider_lost' }
  | { type: 'provider_back' }
  | { type: 'provider_gone'; part: FaultyPart; message: string }
  | { type: 'timer'; timer: SessionTimer }
  | { type: 'stopped' };

/** When a reply began and came to its first sentence and audio; ms from the start of the stream. */
export interface ReplyMoments {
  startedMs: number;
  firstSentenceMs?: number;
  firstAudioMs?: number;
}
