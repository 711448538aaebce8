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
  const { needs, voiceMs } = setup.policy.bargeIn;
  if (!hasWords(state, turns.words)) return undefined;
  const isSure = providerStartsReplies(state) || needs?.words !== undefined;
  const neededMs = needs?.voiceMs === undefined ? undefined : needs.voiceMs + (needs.reportedAfterMs ?? 0);
  return turns.voice.sinceAtMs + (neededMs ?? (isSure ? 0 : voiceMs));
}

/** Interrupts the agent because words were recognized, unless the agent's settings ask for more. */
export function bargeInByWords(state: SessionState, atMs: number): SessionStep {
  const { voice, isVoiced, words } = state.turns;
  const lengthMs = voice === undefined ? 0 : isVoiced ? atMs - voice.sinceAtMs : voice.endMs - voice.startMs;
  return isEnough(state, lengthMs, words) ? bargeIn(state, atMs) : [state, []];
}

/**
 * Whether a turn was too short to interrupt the agent that is speaking, according to the agent's settings. Then the agent
 * continues and does not answer it.
 * @param words undefined if they are not known yet
 */
export function isAside(state: SessionState, lengthMs: number, words: string | undefined): boolean {
  return isAgentSpeaking(state) && !isOnlyFiller(state) && !isEnough(state, lengthMs, words);
}

function isEnough(state: SessionState, lengthMs: number, words: string | undefined): boolean {
  return (
    lengthMs >= (state.setup.policy.bargeIn.needs?.voiceMs ?? 0) && (words === undefined || hasWords(state, words))
  );
}

function hasWords({ setup }: SessionState, words: string): boolean {
  const needed = setup.policy.bargeIn.needs?.words ?? 0;
  return needed === 0 || words.split(/\s+/).filter(Boolean).length >= needed;
}

/** Whether there is something to interrupt. If the provider starts replies, a reply without audio counts, too. */
function isInterruptible(state: SessionState): boolean {
  return isAgentSpeaking(state) || (providerStartsReplies(state) && isReplyRunning(state));
}
