import { dropExpected, expectItem } from './playback.js';
import { mustIntroduce } from './resume.js';
import {
  inOrder,
  isAgentSpeaking,
  isClosing,
  isReplyRunning,
  startsReplies,
  type SessionState,
  type SessionStep,
} from './state.js';

/** An answer is being made from now on. */
export function armFiller(state: SessionState, atMs: number): SessionState {
  return { ...state, filler: { dueMs: atMs + state.setup.policy.filler.afterMs } };
}

/** The caller waits for something that takes long in any case. */
export function fillNow(state: SessionState, atMs: number): SessionStep {
  return inOrder(stopFiller(state, atMs), (next) => ({ ...next, filler: { dueMs: atMs } }));
}

/** Nobody waits any more: a filler whose audio has not come is dropped. */
export function stopFiller(state: SessionState, atMs: number): SessionStep {
  const expected = state.playback.expected.filter(({ kind }) => kind === 'filler');
  return inOrder(
    { ...state, filler: {} },
    ...expected.map(
      ({ id, kind }) =>
        (next: SessionState) =>
          dropExpected(next, id, kind, atMs),
    ),
  );
}

/** A filler is not said into the caller's words but after them. */
export function yieldFiller(state: SessionState, atMs: number): SessionStep {
  const isExpected = state.playback.expected.some(({ kind }) => kind === 'filler');
  return isExpected ? fillNow(state, atMs) : [state, []];
}

export function fillerDueMs({ filler, turns }: SessionState): number | undefined {
  return turns.isOpen ? undefined : filler.dueMs;
}

export function onFillerTimer(state: SessionState): SessionStep {
  const idle: SessionState = { ...state, filler: {} };
  if (!isNeeded(idle)) return [idle, []];
  const count = state.count + 1;
  const itemId = `line-${count}`;
  return [
    expectItem({ ...idle, count }, itemId, 'filler'),
    [{ type: 'say', itemId, line: 'one_moment', by: 'prepared' }],
  ];
}

/** Only in a conversation that has begun: a caller who heard nothing else pays for nothing. */
function isNeeded(state: SessionState): boolean {
  const hasBegun = (state.playback.heardAnything || state.setup.resumed) && !mustIntroduce(state);
  const isAnswerHere = isReplyRunning(state) && state.reply?.hasAudio === true;
  const isMade = !startsReplies(state) || isReplyRunning(state) || state.provider.toolsAtWork > 0;
  return hasBegun && isMade && !isClosing(state) && !isAgentSpeaking(state) && !isAnswerHere;
}
