import { bargeIn, isAside } from './barge-in.js';
import { onClosingReplyOver } from './closing.js';
import type { SessionEvent } from './events.js';
import { armFiller, startReplyWait } from './filler.js';
import { beginReply, cancelReply } from './replies.js';
import { hasMoreThanReserve, budgetAt, chargeReplies } from './reply-budget.js';
import { mustIntroduce, saysFirstMessage } from './resume.js';
import { resetSilence } from './silence.js';
import {
  countPersonTurn,
  inOrder,
  isClosing,
  isReplyRunning,
  providerStartsReplies,
  without,
  withoutAwaitedReply,
  type SessionState,
  type SessionStep,
} from './state.js';

/*
 * Handles providers that detect turns and start replies. They answer each turn of the caller without a request. Replies
 * to DTMF digits, notes and tool results must be requested.
 */

type EventOf<T extends SessionEvent['type']> = Extract<SessionEvent, { type: T }>;

/** Handles the end of a turn. The provider begins a reply without a request; if it must not, the reply is requested. */
export function onTurnOver(state: SessionState, { endMs, atMs }: EventOf<'turn_over'>): SessionStep {
  const over = resetSilence(withoutVoice(state, atMs), atMs);
  const lengthMs = endMs - (state.turns.voice?.startMs ?? endMs);
  if (isClosing(over) || isAside(over, lengthMs, undefined)) return [over, []];
  return inOrder(bargeIn(over, atMs), (next) => {
    const waiting = startReplyWait(next, { sinceMs: endMs, knownMs: atMs });
    return next.provider.mayReply ? awaitReply(waiting, atMs) : beginReply(waiting, atMs);
  });
}

/** Stores the transcript of a turn; the provider began its reply without waiting for it. */
export function onTurnWords(state: SessionState, { text, startMs, endMs }: EventOf<'turn_words'>): SessionStep {
  return [countPersonTurn(state), [{ type: 'store_turn', speaker: 'caller', text, startMs, endMs }]];
}

/** Handles a reply that the provider began without a request. It replaces any reply that was still to be requested. */
export function onReplyBegun(state: SessionState, { replyId, atMs }: EventOf<'reply_begun'>): SessionStep {
  const replies = chargeReplies(state.replies, state.setup.policy.replies, atMs);
  const counted = withoutAwaitedReply({ ...state, replies });
  if (isClosing(state)) return [counted, [{ type: 'cancel_reply', replyId }]];
  const kind = mustIntroduce(state) ? 'introduction' : 'reply';
  return inOrder(state.reply?.running === true ? cancelReply(counted) : counted, (next) => ({
    ...next,
    mustWrapUp: false,
    isReplyDue: false,
    reply: { id: replyId, kind, confirmed: true, running: true, hasAudio: false },
  }));
}

/** Requests a reply if the provider did not begin the one that was expected. */
export function onReplyMissed(state: SessionState, atMs: number): SessionStep {
  return state.provider.awaitedSinceMs === undefined ? [state, []] : onReplyWanted(withoutAwaitedReply(state), atMs);
}

/** Requests a reply after the one in progress. Not if the caller is speaking, because their turn is answered anyway. */
export function onReplyWanted(state: SessionState, atMs: number): SessionStep {
  if (isClosing(state) || state.turns.isOpen) return [state, []];
  return isReplyRunning(state) ? [{ ...state, isReplyDue: true }, []] : beginReply(state, atMs);
}

/**
 * Handles a lost connection: drops the reply in progress and the caller's current turn, whose end is never reported.
 */
export function onProviderLost(state: SessionState, atMs: number): SessionStep {
  const lost = withoutAwaitedReply(without(withoutVoice(state, atMs), 'reply'));
  if (isClosing(state)) return state.reply === undefined ? [lost, []] : onClosingReplyOver(lost, state.reply.id);
  return [awaitReply(lost, atMs), []];
}

/** Handles a restored connection: requests the reply that was lost, unless another one was requested meanwhile. */
export function onProviderBack(state: SessionState, atMs: number): SessionStep {
  if (isClosing(state) || state.provider.awaitedSinceMs === undefined) return [state, []];
  return beginReply(withoutAwaitedReply(state), atMs);
}

/**
 * Updates whether the provider may reply without a request. It must not while the session is ending, when few replies are
 * left, or if the agent's settings decide what is answered, and how.
 */
export function updateAutoReply(state: SessionState, atMs: number): SessionStep {
  if (!providerStartsReplies(state) || state.stopped) return [state, []];
  const { provider, replies, setup } = state;
  const policy = setup.policy.replies;
  const isScarce = provider.isScarce
    ? budgetAt(replies, policy, atMs) < 2 * (policy.reserve + 1)
    : !hasMoreThanReserve(replies, policy, atMs);
  const mayReply = !isClosing(state) && !isScarce && !isDecidedBySettings(state);
  if (isScarce === provider.isScarce && mayReply === provider.mayReply) return [state, []];
  const next = { ...state, provider: { ...provider, isScarce, mayReply } };
  return [next, mayReply === provider.mayReply ? [] : [{ type: 'set_auto_reply', autoReplies: mayReply }]];
}

/**
 * Whether short turns are not answered, or the agent must still say its first message. A turn that began before that
 * message was heard is answered on request, because the provider may have ended it under the earlier settings.
 */
function isDecidedBySettings(state: SessionState): boolean {
  const { opening, policy } = state.setup;
  if (policy.bargeIn.needs?.voiceMs !== undefined || saysFirstMessage(state)) return true;
  return opening?.hasMessage === true && !state.provider.mayReply && state.turns.isOpen;
}

function awaitReply(state: SessionState, atMs: number): SessionState {
  const { provider } = state;
  const awaiting = { ...without(state, 'reply'), isReplyDue: false, provider: { ...provider, awaitedSinceMs: atMs } };
  return armFiller(awaiting, atMs);
}

function withoutVoice(state: SessionState, atMs: number): SessionState {
  const { voice, ...turns } = state.turns;
  const lastVoiceAtMs = voice === undefined ? turns.lastVoiceAtMs : atMs;
  return { ...state, turns: { ...turns, isOpen: false, isVoiced: false, lastVoiceAtMs } };
}
