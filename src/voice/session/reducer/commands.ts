import type { AnsweredBy } from '../../../kernel/call-state.js';
import type { FaultyPart, ReplyMoments } from './events.js';
import type { ItemKind, ReplyTask, SessionTimer } from './kinds.js';

/** Fixed sentences that need no LLM. */
export type FixedLine = 'one_moment' | 'are_you_there' | 'silent_goodbye' | 'sorry' | 'voicemail_message';

/** Commands of the reducer, performed in order. */
export type SessionCommand =
  /** Speaks a fixed sentence as one item, by TTS or from audio prepared earlier. */
  | { type: 'say'; itemId: string; line: FixedLine; by: 'voice' | 'prepared' }
  /** Sends the oldest waiting chunk of an item to the line. */
  | { type: 'send_audio'; itemId: string }
  /** All audio of the item has been sent. */
  | { type: 'end_item'; itemId: string }
  /** Drops all audio that is not played yet, here and at the carrier. */
  | { type: 'clear' }
  /** The item is over and sends no more audio. An `item_words` event follows with the words that were played. */
  | { type: 'close_item'; itemId: string; kind: ItemKind; playedMs: number; complete: boolean; startMs: number }
  /** Adds to the model's chat history; `digits` are the DTMF digits that the text mentions. */
  | { type: 'tell_model'; from: 'caller' | 'phone'; text: string; digits?: string }
  /** Whether the provider may answer the caller by itself; only for providers that start replies. */
  | { type: 'let_provider_answer'; answers: boolean }
  /**
   * Requests a reply. An unconfirmed one answers `heard`, which may not be the whole turn, and is not played until
   * `confirm_reply`.
   */
  | { type: 'request_reply'; replyId: string; task: ReplyTask; confirmed: boolean; heard?: string }
  | { type: 'confirm_reply'; replyId: string }
  | { type: 'cancel_reply'; replyId: string }
  | { type: 'run_tool'; toolCallId: string; name: string; arguments: Record<string, unknown> }
  /** Answers a tool call without running a tool. */
  | { type: 'answer_tool'; toolCallId: string; answer: { ok: true; result: string } | { ok: false; error: string } }
  | { type: 'hurry_recogniser' }
  | { type: 'forget_turn' }
  | { type: 'reopen_recogniser' }
  | { type: 'store_turn'; speaker: 'agent' | 'caller'; text: string; startMs: number; endMs: number }
  | { type: 'store_answered_by'; who: AnsweredBy }
  | { type: 'store_latency'; sinceMs: number; knownMs: number; times: ReplyMoments; atMs: number }
  | { type: 'start_timer'; timer: SessionTimer; dueMs: number }
  | { type: 'stop_timer'; timer: SessionTimer }
  /** Ends the call after the queued audio has played. */
  | { type: 'end'; reason: 'agent_hangup' | 'silence' | 'voicemail' }
  | { type: 'fail'; part: FaultyPart; message: string };
