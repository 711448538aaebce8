import type { SessionCommand } from './commands.js';
import type { SessionEvent } from './events.js';
import { armFiller, stopFiller } from './filler.js';
import { clearLine } from './playback.js';
import type { ItemKind, ReplyTask } from './kinds.js';
import { hasPlenty, hasRoom, roomAtMs, withOneTaken } from './reply-budget.js';
import { mustIntroduce } from './resume.js';
import {
  inOrder,
  isAgentSpeaking,
  isBusy,
  isOnlyFilling,
  isClosing,
  isReplyRunning,
  startsReplies,
  without,
  withoutAwaited,
  type SessionState,
  type SessionStep,
} from './state.js';

/**
 * Requests a reply that replaces any other. Without budget it waits, except for a voicemail message. A provider that
 * starts replies makes one at a time: audio on the line continues, and a speaking caller is answered after their turn.
 */
export function beginReply(
  state: SessionState,
  atMs: number,
  { as, task = 'go_on' }: { as?: ItemKind; task?: ReplyTask } = {},
): SessionStep {
  const isProviders = startsReplies(state);
  if (isProviders && state.turns.isOpen && as !== 'message') return [state, []];
  return inOrder(
    isProviders ? giveWay(state) : stopReply(state, atMs, true),
    (next) => without({ ...next, mustWrapUp: false, task }, 'owed'),
    (next) => {
      if (as !== 'message' && !hasRoom(next.replies, next.setup.policy.replies, atMs)) return due(next, true);
      return requested(due(next, false), { confirmed: true, atMs, ...(as === undefined ? {} : { as }) });
    },
    (next) => armFiller(next, atMs),
  );
}

/** Requests a reply to words that may not be the whole turn; it is not played until confirmed. */
export function beginEarlyReply(state: SessionState, heard: string, atMs: number): SessionStep {
  if (!hasPlenty(state.replies, state.setup.policy.replies, atMs)) return [state, []];
  if (isClosing(state) || isAgentSpeaking(state) || isReplyRunning(state)) return [state, []];
  return requested({ ...state, task: 'answer' }, { confirmed: false, heard, atMs });
}

/** Cancels a running reply, because only one runs at a time; its audio on the line stays. */
function giveWay(state: SessionState): SessionState | SessionStep {
  return state.reply?.running === true ? cancelReply(state) : state;
}

const isAwaited = ({ provider }: SessionState) => provider.awaitedSinceMs !== undefined;

function due(state: SessionState, isReplyDue: boolean): SessionState {
  return { ...state, isReplyDue };
}

/** When a reply that waits for budget is requested. */
export function replyDueMs(state: SessionState): number | undefined {
  if (startsReplies(state) && (state.reply?.running === true || isAwaited(state) || state.turns.isOpen))
    return undefined;
  return state.isReplyDue && !isClosing(state) ? roomAtMs(state.replies, state.setup.policy.replies) : undefined;
}

function requested(
  state: SessionState,
  p: { confirmed: boolean; atMs: number; heard?: string; as?: ItemKind },
): SessionStep {
  const count = state.count + 1;
  const replyId = `reply-${count}`;
  const kind = p.as ?? (mustIntroduce(state) ? 'introduction' : 'reply');
  const task = kind === 'introduction' ? 'introduce' : state.task;
  const heard = p.heard === undefined ? {} : { heard: p.heard };
  const reply = { id: replyId, kind, confirmed: p.confirmed, running: true, hasAudio: false, ...heard };
  const replies = withOneTaken(state.replies, state.setup.policy.replies, p.atMs);
  return [
    { ...withoutAwaited(state), count, reply, replies },
    [{ type: 'request_reply', replyId, task, confirmed: p.confirmed, ...heard }],
  ];
}

/** Adds a note to the chat history and requests a reply to it. */
export function answerNote(
  state: SessionState,
  noteToModel: string,
  atMs: number,
  { as, task, ...digits }: { as?: ItemKind; task?: ReplyTask; digits?: string } = {},
): SessionStep {
  return inOrder([state, [{ type: 'tell_model', from: 'phone', text: noteToModel, ...digits }]], (next) =>
    beginReply(next, atMs, { ...(as === undefined ? {} : { as }), ...(task === undefined ? {} : { task }) }),
  );
}

/** Answers the caller's turn: confirms a reply begun early for the same text, and replaces any other. */
export function answerTurn(state: SessionState, text: string, atMs: number): SessionStep {
  const { reply } = state;
  const tellModel: SessionCommand = { type: 'tell_model', from: 'caller', text };
  if (reply === undefined || reply.confirmed || reply.heard !== text) {
    return inOrder([state, [tellModel]], (next) => beginReply(next, atMs, { task: 'answer' }));
  }
  const { heard: _, ...confirmed } = { ...reply, confirmed: true };
  return inOrder(
    [{ ...state, reply: confirmed, mustWrapUp: false }, [tellModel]],
    (next) => armFiller(next, atMs),
    (next) => [next, [{ type: 'confirm_reply', replyId: reply.id }]],
  );
}

/**
 * Cancels the reply and clears its audio.
 * @param anAnswerFollows keep a filler on the line
 */
export function stopReply(state: SessionState, atMs: number, anAnswerFollows = false): SessionStep {
  const keep = anAnswerFollows && isOnlyFilling(state) ? 'filler' : undefined;
  const clear = (next: SessionState) => clearLine(next, atMs, keep);
  // Cancel a provider that starts replies first; clearing then tells it how much was played.
  const steps = startsReplies(state) ? [cancelReply, clear] : [clear, cancelReply];
  return inOrder(stopFiller(state, atMs), ...steps);
}

/** Cancels the current reply, if any. */
export function cancelReply(state: SessionState): SessionStep {
  const { reply } = state;
  return reply === undefined ? [state, []] : [without(state, 'reply'), [{ type: 'cancel_reply', replyId: reply.id }]];
}

/** Cancels a reply begun early, because the caller continues. */
export function dropEarlyReply(state: SessionState): SessionStep {
  return state.reply === undefined || state.reply.confirmed ? [state, []] : cancelReply(state);
}

/** The first audio of a reply is ready: the caller no longer waits. */
export function onReplyHeard(state: SessionState, event: Extract<SessionEvent, { type: 'reply_heard' }>): SessionStep {
  const { reply, waiting } = state;
  if (reply?.id !== event.replyId) return [state, []];
  const commands: SessionCommand[] =
    waiting === undefined ? [] : [{ type: 'store_latency', ...waiting, times: event.times, atMs: event.atMs }];
  return inOrder(stopFiller({ ...state, reply: { ...reply, hasAudio: true } }, event.atMs), (next) => [
    without(next, 'waiting'),
    commands,
  ]);
}

export function onReplyDone(state: SessionState, replyId: string, atMs: number): SessionStep {
  const { reply } = state;
  if (reply?.id !== replyId) return [state, []];
  // The provider makes another reply once its tools have answered.
  const isContinued = startsReplies(state) && (!reply.hasAudio || state.provider.toolsAtWork > 0);
  if (isContinued) return [{ ...state, reply: { ...reply, running: false } }, []];
  return inOrder(stopFiller({ ...state, reply: { ...reply, running: false } }, atMs), (next) =>
    without(next, 'waiting'),
  );
}

/** Tells the model that the call will be ended; it speaks as soon as the line is quiet. */
export function onEndingSoon(state: SessionState, secondsLeft: number): SessionStep {
  if (isClosing(state)) return [state, []];
  const text = `The call will be ended in about ${secondsLeft} seconds. Say so in a few words and come to an end.`;
  // A reply begun early does not include this.
  return inOrder(dropEarlyReply(state), (next) => [
    { ...next, mustWrapUp: true },
    [{ type: 'tell_model', from: 'phone', text }],
  ]);
}

export function wrapUpIfQuiet(state: SessionState, atMs: number): SessionStep {
  return state.mustWrapUp && !isBusy(state) ? beginReply(state, atMs, { task: 'wrap_up' }) : [state, []];
}
