import type { SessionCommand } from './commands.js';
import type { SessionEvent } from './events.js';
import { armFiller, stopFiller } from './filler.js';
import { clearPlayback, expectItem } from './playback.js';
import type { ItemKind, ReplyTask } from './kinds.js';
import { hasMoreThanReserve, hasBudget, budgetDueMs, chargeReplies } from './reply-budget.js';
import { mustIntroduce, saysFirstMessage } from './resume.js';
import {
  inOrder,
  isAgentSpeaking,
  isBusy,
  isOnlyFiller,
  isClosing,
  isReplyRunning,
  providerStartsReplies,
  without,
  withoutAwaitedReply,
  type SessionState,
  type SessionStep,
} from './state.js';

/**
 * Requests a reply, which replaces any other reply. If the reply budget is used up, the reply waits, unless it is a
 * voicemail message. If the provider starts replies, queued audio still plays, and no reply is requested while the
 * caller speaks.
 */
export function beginReply(
  state: SessionState,
  atMs: number,
  { as, task = 'continue' }: { as?: ItemKind; task?: ReplyTask } = {},
): SessionStep {
  const isProviders = providerStartsReplies(state);
  if (isProviders && state.turns.isOpen && as !== 'message') return [state, []];
  return inOrder(
    isProviders ? cancelRunningReply(state) : stopReply(state, atMs, true),
    (next) => without({ ...next, mustWrapUp: false, task }, 'pendingNote'),
    (next) => {
      if (as !== 'message' && !hasBudget(next.replies, next.setup.policy.replies, atMs))
        return withReplyDue(next, true);
      return requestReply(withReplyDue(next, false), { confirmed: true, atMs, ...(as === undefined ? {} : { as }) });
    },
    (next) => armFiller(next, atMs),
  );
}

/** Requests a reply to words that may not be the whole turn. The reply is not played until it is confirmed. */
export function beginEarlyReply(state: SessionState, heard: string, atMs: number): SessionStep {
  if (!hasMoreThanReserve(state.replies, state.setup.policy.replies, atMs)) return [state, []];
  if (isClosing(state) || isAgentSpeaking(state) || isReplyRunning(state) || saysFirstMessage(state))
    return [state, []];
  return requestReply({ ...state, task: 'answer' }, { confirmed: false, heard, atMs });
}

/** Cancels a running reply, because only one runs at a time. Audio that was already sent still plays. */
function cancelRunningReply(state: SessionState): SessionState | SessionStep {
  return state.reply?.running === true ? cancelReply(state) : state;
}

const isAwaited = ({ provider }: SessionState) => provider.awaitedSinceMs !== undefined;

function withReplyDue(state: SessionState, isReplyDue: boolean): SessionState {
  return { ...state, isReplyDue };
}

/** When to request a reply that waits because the reply budget is used up. */
export function replyDueMs(state: SessionState): number | undefined {
  if (providerStartsReplies(state) && (state.reply?.running === true || isAwaited(state) || state.turns.isOpen))
    return undefined;
  return state.isReplyDue && !isClosing(state) ? budgetDueMs(state.replies, state.setup.policy.replies) : undefined;
}

function requestReply(
  state: SessionState,
  options: { confirmed: boolean; atMs: number; heard?: string; as?: ItemKind },
): SessionStep {
  // A provider that starts replies says the message in a reply.
  if (options.as === undefined && saysFirstMessage(state) && !providerStartsReplies(state))
    return sayFirstMessage(state);
  const count = state.count + 1;
  const replyId = `reply-${count}`;
  const kind = options.as ?? (mustIntroduce(state) ? 'introduction' : 'reply');
  const task = kind === 'introduction' ? 'introduce' : state.task;
  const heard = options.heard === undefined ? {} : { heard: options.heard };
  const reply = { id: replyId, kind, confirmed: options.confirmed, running: true, hasAudio: false, ...heard };
  const replies = chargeReplies(state.replies, state.setup.policy.replies, options.atMs);
  return [
    { ...withoutAwaitedReply(state), count, reply, replies },
    [{ type: 'request_reply', replyId, task, confirmed: options.confirmed, ...heard }],
  ];
}

/** Says the agent's first message. It needs no model, so no reply is charged. */
function sayFirstMessage(state: SessionState): SessionStep {
  const count = state.count + 1;
  const itemId = `line-${count}`;
  return [
    expectItem({ ...without(state, 'waiting'), count }, itemId, 'introduction'),
    [{ type: 'say', itemId, phrase: 'first_message', by: 'voice' }],
  ];
}

/** Adds a note to the chat history and requests a reply to it. */
export function replyToNote(
  state: SessionState,
  historyText: string,
  atMs: number,
  { as, task, ...digits }: { as?: ItemKind; task?: ReplyTask; digits?: string } = {},
): SessionStep {
  return inOrder([state, [{ type: 'add_to_history', from: 'phone', text: historyText, ...digits }]], (next) =>
    beginReply(next, atMs, { ...(as === undefined ? {} : { as }), ...(task === undefined ? {} : { task }) }),
  );
}

/** Answers a typed turn of the caller, in place of any other reply. */
export function replyToTyped(state: SessionState, text: string, atMs: number): SessionStep {
  return inOrder([state, [{ type: 'add_to_history', from: 'caller', text, isTyped: true }]], (next) =>
    beginReply(next, atMs, { task: 'answer' }),
  );
}

/** Answers the caller's turn: confirms a reply begun early for the same text, and replaces any other. */
export function replyToTurn(state: SessionState, text: string, atMs: number): SessionStep {
  const { reply } = state;
  const addToHistory: SessionCommand = { type: 'add_to_history', from: 'caller', text };
  if (reply === undefined || reply.confirmed || reply.heard !== text) {
    return inOrder([state, [addToHistory]], (next) => beginReply(next, atMs, { task: 'answer' }));
  }
  const { heard: _, ...confirmed } = { ...reply, confirmed: true };
  return inOrder(
    [{ ...state, reply: confirmed, mustWrapUp: false }, [addToHistory]],
    (next) => armFiller(next, atMs),
    (next) => [next, [{ type: 'confirm_reply', replyId: reply.id }]],
  );
}

/**
 * Cancels the reply and clears its audio.
 * @param keepsFiller whether a filler that is playing continues
 */
export function stopReply(state: SessionState, atMs: number, keepsFiller = false): SessionStep {
  const keep = keepsFiller && isOnlyFiller(state) ? 'filler' : undefined;
  const clear = (next: SessionState) => clearPlayback(next, atMs, keep);
  // If the provider starts replies, cancel the reply before clearing the audio, because clearing tells the provider how
  // much was played.
  const steps = providerStartsReplies(state) ? [cancelReply, clear] : [clear, cancelReply];
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

/** Handles the first audio of a reply, after which the caller no longer waits. */
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
  // If tools are running, the provider makes another reply once they have answered.
  const isContinued = providerStartsReplies(state) && (!reply.hasAudio || state.provider.runningTools > 0);
  if (isContinued) return [{ ...state, reply: { ...reply, running: false } }, []];
  return inOrder(stopFiller({ ...state, reply: { ...reply, running: false } }, atMs), (next) =>
    without(next, 'waiting'),
  );
}

/** Tells the model that the call will be ended. The model says so as soon as neither side speaks. */
export function onEndingSoon(state: SessionState, secondsLeft: number): SessionStep {
  if (isClosing(state)) return [state, []];
  const text = `The call will be ended in about ${secondsLeft} seconds. Say so in a few words and come to an end.`;
  // A reply begun early does not know about the end, so drop it.
  return inOrder(dropEarlyReply(state), (next) => [
    { ...next, mustWrapUp: true },
    [{ type: 'add_to_history', from: 'phone', text }],
  ]);
}

export function wrapUpIfQuiet(state: SessionState, atMs: number): SessionStep {
  return state.mustWrapUp && !isBusy(state) ? beginReply(state, atMs, { task: 'wrap_up' }) : [state, []];
}
