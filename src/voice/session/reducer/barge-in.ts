import { clearLine } from './playback.js';
import { stopReply } from './replies.js';
import { agentDone } from './silence.js';
import {
  inOrder,
  isAgentSpeaking,
  isOnlyFilling,
  isClosing,
  isReplyRunning,
  without,
  type SessionState,
  type SessionStep,
} from './state.js';

/** The caller interrupts: what is on the line is cleared, and what is being said is taken back. */
export function bargeIn(state: SessionState, atMs: number): SessionStep {
  if (isClosing(state) || !isAgentSpeaking(state)) return [state, []];
  // What is being made is not said yet: words take it back, a mere noise must not.
  if (isOnlyFilling(state) && isReplyRunning(state)) return clearLine(state, atMs);
  return inOrder(stopReply({ ...without(state, 'waiting'), owed: 'rest' }, atMs), (next) => agentDone(next, atMs));
}

/** When the caller's voice over the agent's has lasted long enough to be an interruption. */
export function bargeInDueMs(state: SessionState): number | undefined {
  const { turns, setup } = state;
  if (!turns.isVoiced || turns.voice === undefined || isClosing(state) || !isAgentSpeaking(state)) return undefined;
  return turns.voice.sinceAtMs + setup.policy.bargeIn.voiceMs;
}
