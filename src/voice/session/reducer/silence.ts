import { expectItem } from './playback.js';
import { replyToNote } from './replies.js';
import { mustIntroduce } from './resume.js';
import { beginClosing } from './closing.js';
import type { ItemKind } from './kinds.js';
import { isAgentBusy, type SessionState, type SessionStep } from './state.js';

const NO_ANSWER = 'The other person has not answered. Introduce yourself again, and ask whether they are there.';

/** Resets the silence timeout when the caller has spoken or pressed a key. */
export function resetSilence(state: SessionState, atMs: number): SessionState {
  return { ...state, silence: { quietSinceMs: atMs, prompted: false } };
}

/** Restarts the silence timeout when the agent has spoken, without forgetting that a reprompt was said. */
export function restartSilence(state: SessionState, atMs: number): SessionState {
  return { ...state, silence: { ...state.silence, quietSinceMs: atMs } };
}

/** Restarts the silence timeout from the end of an introduction or reply. */
export function itemOver(state: SessionState, kind: ItemKind): SessionState {
  if (kind !== 'introduction' && kind !== 'reply') return state;
  return restartSilence(state, Math.max(state.silence.quietSinceMs, state.playback.lastOverAtMs));
}

/** Since when both sides are silent. An open turn counts as speech, but only up to a maximum length. */
function silentSinceMs({ silence, turns, setup }: SessionState): number {
  if (!turns.isOpen) return silence.quietSinceMs;
  return Math.max(silence.quietSinceMs, turns.openedAtMs + setup.policy.turns.openAtMostMs);
}

/** When the silence timeout is due; undefined while the agent speaks or a reply is being prepared. */
export function silenceDueMs(state: SessionState): number | undefined {
  if (isAgentBusy(state)) return undefined;
  const { repromptAfterMs, endAfterMs } = state.setup.policy.silence;
  return silentSinceMs(state) + (state.silence.prompted ? endAfterMs : Math.min(repromptAfterMs, endAfterMs));
}

/** Drops an open turn, so that it neither interrupts the agent nor delays replies. */
function withoutOpenTurn(state: SessionState): SessionState {
  const { voice: _, ...turns } = state.turns;
  return restartSilence({ ...state, turns: { ...turns, isOpen: false, isVoiced: false } }, silentSinceMs(state));
}

export function onSilenceTimer(before: SessionState, atMs: number): SessionStep {
  const state = before.turns.isOpen ? withoutOpenTurn(before) : before;
  const { quietSinceMs } = state.silence;
  if (atMs - quietSinceMs >= state.setup.policy.silence.endAfterMs) {
    const end = { type: 'end', reason: 'silence' } as const;
    return beginClosing(state, { end, phrase: 'silence_goodbye', ways: ['voice', 'prepared'] }, atMs);
  }
  const prompted = { ...state, silence: { quietSinceMs, prompted: true } };
  if (mustIntroduce(prompted)) return replyToNote(prompted, NO_ANSWER, atMs);
  const count = state.count + 1;
  const itemId = `line-${count}`;
  return [
    expectItem({ ...prompted, count }, itemId, 'reprompt'),
    [{ type: 'say', itemId, phrase: 'reprompt', by: 'voice' }],
  ];
}
