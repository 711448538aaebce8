import type { AnsweredBy } from '../../../kernel/call-state.js';
import type { FaultyPart, ReplyMoments } from './events.js';
import type { ItemKind, ReplyTask, SessionTimer } from './kinds.js';

/** Lines that need no model. */
export type FixedLine = 'one_moment' | 'are_you_there' | 'silent_goodbye' | 'sorry' | 'voicemail_message';

/** What a session wants done. Commands are performed in order. */
export type SessionCommand =
  /** Speaks a fixed line as one item; by the call's voice, or from audio prepared before. */
  | { type: 'say'; itemId: string; line: FixedLine; by: 'voice' | 'prepared' }
  /** Hands the oldest piece of an item's audio that waits to the line. */
  | { type: 'send_audio'; itemId: string }
  /** All audio of an item was handed to the line. */
  | { type: 'end_item'; itemId: string }
  /** Drops everything that is not played yet, here and at the carrier. */
  | { type: 'clear' }
  /** The item is over: nothing more of it is sent. `item_words` follows with the words that were heard. */
  | { type: 'close_item'; itemId: string; kind: ItemKind; playedMs: number; complete: boolean; startMs: number }
  /** Adds to what the model knows of the conversation; `digits` are those that the text tells of. */
  | { type: 'tell_model'; from: 'caller' | 'phone'; text: string; digits?: string }
  /** Whether the provider may answer the caller by itself from now on; where the provider starts replies. */
  | { type: 'let_provider_answer'; answers: boolean }
  /**
   * Asks for a reply. One that is not confirmed answers `heard`, words that may not be all, and is kept from the line
   * until it is.
   */
  | { type: 'request_reply'; replyId: string; task: ReplyTask; confirmed: boolean; heard?: string }
  | { type: 'confirm_reply'; replyId: string }
  | { type: 'cancel_reply'; replyId: string }
  | { type: 'run_tool'; toolCallId: string; name: string; arguments: Record<string, unknown> }
  /** Answers a tool call without running anything. */
  | { type: 'answer_tool'; toolCallId: string; answer: { ok: true; result: string } | { ok: false; error: string } }
  | { type: 'hurry_recogniser' }
  | { type: 'forget_turn' }
  | { type: 'reopen_recogniser' }
  | { type: 'store_turn'; speaker: 'agent' | 'caller'; text: string; startMs: number; endMs: number }
  | { type: 'store_answered_by'; who: AnsweredBy }
  | { type: 'store_latency'; sinceMs: number; knownMs: number; times: ReplyMoments; atMs: number }
  | { type: 'start_timer'; timer: SessionTimer; dueMs: number }
  | { type: 'stop_timer'; timer: SessionTimer }
  /** Ends the call after what is queued was heard. */
  | { type: 'end'; reason: 'agent_hangup' | 'silence' | 'voicemail' }
  | { type: 'fail'; part: FaultyPart; message: string };
