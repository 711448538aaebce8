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

/** The caller interrupts: what is on the line is cleared, and what is being said is taken back. */
export function bargeIn(state: SessionState, atMs: number): SessionStep {
  if (isClosing(state) || !isInterruptible(state)) return [state, []];
  if (startsReplies(state)) {
    const taken = withoutAwaited({ ...without(state, 'waiting'), isReplyDue: false });
    return inOrder(stopReply(taken, atMs), (next) => agentDone(next, atMs));
  }
  // Clear only the filler. The reply being made goes on: the end of the caller's turn replaces it, a noise does not.
  if (isOnlyFilling(state) && isReplyRunning(state)) return clearLine(state, atMs);
  return inOrder(stopReply({ ...without(state, 'waiting'), owed: 'rest' }, atMs), (next) => agentDone(next, atMs));
}

/**
 * When the caller's voice over the agent's has lasted long enough to be an interruption. A provider that starts replies
 * reports voice only once it is sure of it.
 */
export function bargeInDueMs(state: SessionState): number | undefined {
  const { turns, setup } = state;
  if (!turns.isVoiced || turns.voice === undefined || isClosing(state) || !isInterruptible(state)) return undefined;
  return turns.voice.sinceAtMs + (startsReplies(state) ? 0 : setup.policy.bargeIn.voiceMs);
}

/** A provider that starts replies answers whoever speaks: a reply that is being made is of no use, either. */
function isInterruptible(state: SessionState): boolean {
  return isAgentSpeaking(state) || (startsReplies(state) && isReplyRunning(state));
}
