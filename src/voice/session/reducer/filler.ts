import { dropExpected, expectItem } from './playback.js';
import { mustIntroduce } from './resume.js';
import {
  inOrder,
  isAgentSpeaking,
  isClosing,
  isReplyRunning,
  providerStartsReplies,
  type SessionState,
  type SessionStep,
} from './state.js';

/** Records that the caller waits for a reply to input that ended at `sinceMs` and was completely known at `knownMs`. */
export function startReplyWait(state: SessionState, waiting: { sinceMs: number; knownMs: number }): SessionState {
  return { ...state, waiting, filler: { ...state.filler, isSaid: false } };
}

/** Starts the filler timeout when the preparation of a reply begins. */
export function armFiller(state: SessionState, atMs: number): SessionState {
  return { ...state, filler: { ...state.filler, dueMs: atMs + state.setup.policy.filler.afterMs } };
}

/** Makes the filler due at once, for a wait that is certain to be long. */
export function makeFillerDue(state: SessionState, atMs: number): SessionStep {
  return inOrder(stopFiller(state, atMs), (next) => ({ ...next, filler: { ...next.filler, dueMs: atMs } }));
}

/** Stops the filler timeout and drops a filler without audio, because the caller no longer waits. */
export function stopFiller(state: SessionState, atMs: number): SessionStep {
  const expected = state.playback.expected.filter(({ kind }) => kind === 'filler');
  return inOrder(
    disarmFiller(state),
    ...expected.map(
      ({ id, kind }) =>
        (next: SessionState) =>
          dropExpected(next, id, kind, atMs),
    ),
  );
}

/** Postpones a filler while the caller speaks. */
export function postponeFiller(state: SessionState, atMs: number): SessionStep {
  const isExpected = state.playback.expected.some(({ kind }) => kind === 'filler');
  return isExpected ? makeFillerDue(state, atMs) : [state, []];
}

export function fillerDueMs({ filler, turns }: SessionState): number | undefined {
  return turns.isOpen ? undefined : filler.dueMs;
}

export function onFillerTimer(state: SessionState): SessionStep {
  const next = disarmFiller(state);
  if (!isFillerNeeded(next)) return [next, []];
  const count = state.count + 1;
  const itemId = `line-${count}`;
  return [
    expectItem({ ...next, count }, itemId, 'filler'),
    [{ type: 'say', itemId, phrase: 'filler', by: 'prepared' }],
  ];
}

function disarmFiller(state: SessionState): SessionState {
  return { ...state, filler: { isSaid: state.filler.isSaid } };
}

/**
 * A filler plays only if the agent was heard before, because a filler alone must not make a call billable. It never
 * plays twice in a row.
 */
function isFillerNeeded(state: SessionState): boolean {
  const { playback, filler, reply } = state;
  const hasBegun = (playback.hasPlayed || state.setup.resumed) && !mustIntroduce(state);
  const isAnswerHere = isReplyRunning(state) && reply?.hasAudio === true;
  const isMade = !providerStartsReplies(state) || isReplyRunning(state) || state.provider.runningTools > 0;
  const isFilled = filler.isSaid || playback.expected.some(({ kind }) => kind === 'filler');
  return hasBegun && isMade && !isFilled && !isClosing(state) && !isAgentSpeaking(state) && !isAnswerHere;
}
