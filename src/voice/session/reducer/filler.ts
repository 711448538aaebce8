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

/** The caller waits for a reply to new input: `sinceMs` when it ended, `knownMs` when the session knew all of it. */
export function callerWaits(state: SessionState, waiting: { sinceMs: number; knownMs: number }): SessionState {
  return { ...state, waiting, filler: { ...state.filler, isSaid: false } };
}

/** Starts the filler timeout: a reply is being prepared from now on. */
export function armFiller(state: SessionState, atMs: number): SessionState {
  return { ...state, filler: { ...state.filler, dueMs: atMs + state.setup.policy.filler.afterMs } };
}

/** Makes the filler due at once, for a wait that is certain to be long. */
export function fillNow(state: SessionState, atMs: number): SessionStep {
  return inOrder(stopFiller(state, atMs), (next) => ({ ...next, filler: { ...next.filler, dueMs: atMs } }));
}

/** Stops the filler timeout and drops a filler without audio, because the caller no longer waits. */
export function stopFiller(state: SessionState, atMs: number): SessionStep {
  const expected = state.playback.expected.filter(({ kind }) => kind === 'filler');
  return inOrder(
    idle(state),
    ...expected.map(
      ({ id, kind }) =>
        (next: SessionState) =>
          dropExpected(next, id, kind, atMs),
    ),
  );
}

/** Postpones a filler while the caller speaks. */
export function yieldFiller(state: SessionState, atMs: number): SessionStep {
  const isExpected = state.playback.expected.some(({ kind }) => kind === 'filler');
  return isExpected ? fillNow(state, atMs) : [state, []];
}

export function fillerDueMs({ filler, turns }: SessionState): number | undefined {
  return turns.isOpen ? undefined : filler.dueMs;
}

export function onFillerTimer(state: SessionState): SessionStep {
  const next = idle(state);
  if (!isNeeded(next)) return [next, []];
  const count = state.count + 1;
  const itemId = `line-${count}`;
  return [
    expectItem({ ...next, count }, itemId, 'filler'),
    [{ type: 'say', itemId, line: 'one_moment', by: 'prepared' }],
  ];
}

function idle(state: SessionState): SessionState {
  return { ...state, filler: { isSaid: state.filler.isSaid } };
}

/** A filler plays only after the agent was heard (a call with nothing else is not billed), never twice in a row. */
function isNeeded(state: SessionState): boolean {
  const { playback, filler, reply } = state;
  const hasBegun = (playback.heardAnything || state.setup.resumed) && !mustIntroduce(state);
  const isAnswerHere = isReplyRunning(state) && reply?.hasAudio === true;
  const isMade = !startsReplies(state) || isReplyRunning(state) || state.provider.toolsAtWork > 0;
  const isFilled = filler.isSaid || playback.expected.some(({ kind }) => kind === 'filler');
  return hasBegun && isMade && !isFilled && !isClosing(state) && !isAgentSpeaking(state) && !isAnswerHere;
}
