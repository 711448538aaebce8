import { clearPlayback } from './playback.js';
import { stopReply } from './replies.js';
import { restartSilence } from './silence.js';
import {
  inOrder,
  isAgentSpeaking,
  isOnlyFiller,
  isClosing,
  isReplyRunning,
  providerStartsReplies,
  without,
  withoutAwaitedReply,
  type SessionState,
  type SessionStep,
} from './state.js';

/** Handles a barge-in: clears queued audio and cancels the current reply. */
export function bargeIn(state: SessionState, atMs: number): SessionStep {
  if (isClosing(state) || !isInterruptible(state)) return [state, []];
  if (providerStartsReplies(state)) {
    const taken = withoutAwaitedReply({ ...without(state, 'waiting'), isReplyDue: false });
    return inOrder(stopReply(taken, atMs), (next) => restartSilence(next, atMs));
  }
  // Clear only the filler, and keep the reply that is being prepared, because the caller's voice may be noise. If it
  // becomes a turn, the end of the turn replaces that reply.
  if (isOnlyFiller(state) && isReplyRunning(state)) return clearPlayback(state, atMs);
  return inOrder(stopReply({ ...without(state, 'waiting'), pendingNote: 'rest' }, atMs), (next) =>
    restartSilence(next, atMs),
  );
}

/**
 * When the caller's voice becomes a barge-in. If the provider starts replies, this happens at once, because such a
 * provider reports voice only when it is sure.
 */
export function bargeInDueMs(state: SessionState): number | undefined {
  const { turns, setup } = state;
  if (!turns.isVoiced || turns.voice === undefined || isClosing(state) || !isInterruptible(state)) return undefined;
  return turns.voice.sinceAtMs + (providerStartsReplies(state) ? 0 : setup.policy.bargeIn.voiceMs);
}

/** Whether there is something to interrupt. If the provider starts replies, a reply without audio counts, too. */
function isInterruptible(state: SessionState): boolean {
  return isAgentSpeaking(state) || (providerStartsReplies(state) && isReplyRunning(state));
}
