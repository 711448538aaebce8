import { clearLine } from './playback.js';
import { stopReply } from './replies.js';
import { agentDone } from './silence.js';
import {
  inOrder,
  isAgentSpeaking,
  isOnlyFilling,
  isClosing,
  isReplyRunning,
  startsReplies,
  without,
  withoutAwaited,
  type SessionState,
  type SessionStep,
} from './state.js';

/** Handles a barge-in: clears the line and cancels the current reply. */
export function bargeIn(state: SessionState, atMs: number): SessionStep {
  if (isClosing(state) || !isInterruptible(state)) return [state, []];
  if (startsReplies(state)) {
    const taken = withoutAwaited({ ...without(state, 'waiting'), isReplyDue: false });
    return inOrder(stopReply(taken, atMs), (next) => agentDone(next, atMs));
  }
  // Clear only the filler and keep the reply in progress: the end of the caller's turn replaces it, a noise does not.
  if (isOnlyFilling(state) && isReplyRunning(state)) return clearLine(state, atMs);
  return inOrder(stopReply({ ...without(state, 'waiting'), owed: 'rest' }, atMs), (next) => agentDone(next, atMs));
}

/**
 * When the caller's voice over the agent's becomes a barge-in. Immediate if the provider starts replies, because such a
 * provider reports voice only once it is sure.
 */
export function bargeInDueMs(state: SessionState): number | undefined {
  const { turns, setup } = state;
  if (!turns.isVoiced || turns.voice === undefined || isClosing(state) || !isInterruptible(state)) return undefined;
  return turns.voice.sinceAtMs + (startsReplies(state) ? 0 : setup.policy.bargeIn.voiceMs);
}

/** A provider that starts replies answers every turn, so a reply in progress can be interrupted, too. */
function isInterruptible(state: SessionState): boolean {
  return isAgentSpeaking(state) || (startsReplies(state) && isReplyRunning(state));
}
