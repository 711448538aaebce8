import { expectItem } from './playback.js';
import { replyToNote } from './replies.js';
import { mustIntroduce } from './resume.js';
import { beginClosing } from './closing.js';
import type { ItemKind } from './kinds.js';
import { isBusy, type SessionState, type SessionStep } from './state.js';

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

/** When the silence timeout is due; undefined while anyone speaks or a reply is being prepared. */
export function silenceDueMs(state: SessionState): number | undefined {
  if (isBusy(state)) return undefined;
  const { repromptAfterMs, endAfterMs } = state.setup.policy.silence;
  const { quietSinceMs, prompted } = state.silence;
  return quietSinceMs + (prompted ? endAfterMs : Math.min(repromptAfterMs, endAfterMs));
}

export function onSilenceTimer(state: SessionState, atMs: number): SessionStep {
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
