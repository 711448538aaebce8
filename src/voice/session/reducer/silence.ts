import { expectItem } from './playback.js';
import { answerNote } from './replies.js';
import { mustIntroduce } from './resume.js';
import { beginClosing } from './closing.js';
import type { ItemKind } from './kinds.js';
import { isBusy, type SessionState, type SessionStep } from './state.js';

const NO_ANSWER = 'The far end has not answered. Introduce yourself again, and ask whether they are there.';

/** The caller was heard, by voice or DTMF: resets the silence timeout. */
export function callerHeard(state: SessionState, atMs: number): SessionState {
  return { ...state, silence: { quietSinceMs: atMs, prompted: false } };
}

/** The agent's speech ended or was interrupted: restarts the silence timeout, but keeps whether a reprompt was said. */
export function agentDone(state: SessionState, atMs: number): SessionState {
  return { ...state, silence: { ...state.silence, quietSinceMs: atMs } };
}

/** An introduction or reply ended, by mark or timeout: the silence timeout starts from its end. */
export function itemOver(state: SessionState, kind: ItemKind): SessionState {
  if (kind !== 'introduction' && kind !== 'reply') return state;
  return agentDone(state, Math.max(state.silence.quietSinceMs, state.playback.lastOverAtMs));
}

/** Not due while anyone speaks or a reply is being prepared. */
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
    return beginClosing(state, { end, line: 'silent_goodbye', ways: ['voice', 'prepared'] }, atMs);
  }
  const prompted = { ...state, silence: { quietSinceMs, prompted: true } };
  if (mustIntroduce(prompted)) return answerNote(prompted, NO_ANSWER, atMs);
  const count = state.count + 1;
  const itemId = `line-${count}`;
  return [
    expectItem({ ...prompted, count }, itemId, 'reprompt'),
    [{ type: 'say', itemId, line: 'are_you_there', by: 'voice' }],
  ];
}
