import type { AnsweredBy } from '../../../kernel/call-state.js';
import type { FaultyPart, ReplyTimes } from './events.js';
import type { ItemKind, ReplyTask, SessionTimer } from './kinds.js';

/** Fixed sentences that need no LLM. */
export type FixedPhrase = 'filler' | 'reprompt' | 'silence_goodbye' | 'apology' | 'voicemail_message' | 'first_message';

/** Commands of the reducer, performed in order. */
export type SessionCommand =
  /** Speaks a fixed sentence, by TTS or from audio prepared earlier. The sentence is one item of the playback queue. */
  | { type: 'say'; itemId: string; phrase: FixedPhrase; by: 'voice' | 'prepared' }
  /** Sends the oldest waiting chunk of an item to the caller. */
  | { type: 'send_audio'; itemId: string }
  /** Ends an item, because all of its audio has been sent. */
  | { type: 'end_item'; itemId: string }
  /** Drops all audio that is not played yet, including audio buffered by the carrier. */
  | { type: 'clear' }
  /** Closes an item, which sends no more audio. An `item_words` event follows with the words that were played. */
  | { type: 'close_item'; itemId: string; kind: ItemKind; playedMs: number; complete: boolean; startMs: number }
  /** Adds to the model's chat history; `digits` are the DTMF digits that the text mentions. */
  | { type: 'add_to_history'; from: 'caller' | 'phone'; text: string; digits?: string; isTyped?: true }
  /** Sets whether a provider that starts replies may answer the caller without a request. */
  | { type: 'set_auto_reply'; autoReplies: boolean }
  /**
   * Requests a reply. An unconfirmed reply answers the words `heard`, which may not be the whole turn. It is not played
   * until `confirm_reply`.
   */
  | { type: 'request_reply'; replyId: string; task: ReplyTask; confirmed: boolean; heard?: string }
  | { type: 'confirm_reply'; replyId: string }
  | { type: 'cancel_reply'; replyId: string }
  | { type: 'run_tool'; toolCallId: string; name: string; arguments: Record<string, unknown> }
  /** Answers a tool call without running a tool. */
  | { type: 'answer_tool'; toolCallId: string; answer: { ok: true; result: string } | { ok: false; error: string } }
  | { type: 'finalize_transcript' }
  | { type: 'discard_turn' }
  | { type: 'reconnect_stt' }
  | { type: 'store_turn'; speaker: 'agent' | 'caller'; text: string; startMs: number; endMs: number }
  | { type: 'store_answered_by'; who: AnsweredBy }
  | { type: 'store_latency'; sinceMs: number; knownMs: number; times: ReplyTimes; atMs: number }
  | { type: 'start_timer'; timer: SessionTimer; dueMs: number }
  | { type: 'stop_timer'; timer: SessionTimer }
  /** Ends the call after the queued audio has played. */
  | { type: 'end'; reason: 'agent_hangup' | 'silence' | 'voicemail' }
  | { type: 'fail'; part: FaultyPart; message: string };
