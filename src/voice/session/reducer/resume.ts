import {
  withPersonTurn,
  type PersonEvidence,
  type PlaybackItem,
  type SessionState,
  type SessionStep,
} from './state.js';

/** Note to the model after its introduction was interrupted. */
export const INTRODUCE_AGAIN =
  'You were interrupted before your introduction was heard. Introduce yourself again with your next words.';

/** A turn of an earlier stream, or with another engine. */
interface EarlierTurn {
  speaker: 'agent' | 'caller';
  text: string;
  startMs: number;
  endMs: number;
}

/** Whether the caller heard the introduction on an earlier stream: a complete agent turn, or enough of one. */
export function heardIntroduction(turns: readonly EarlierTurn[], heardAfterMs: number): boolean {
  return turns.some(
    (turn) => turn.speaker === 'agent' && (isHeardToItsEnd(turn) || turn.endMs - turn.startMs >= heardAfterMs),
  );
}

const isHeardToItsEnd = ({ text }: EarlierTurn) => !text.endsWith('(interrupted)');

/** The evidence about a person in earlier turns. */
export function personIn(turns: readonly EarlierTurn[]): PersonEvidence {
  let person: PersonEvidence = { personTurns: 0, answers: 0, agentHeard: false };
  for (const turn of turns) {
    if (turn.speaker === 'caller') person = withPersonTurn(person);
    else if (isHeardToItsEnd(turn)) person = { ...person, agentHeard: true };
  }
  return person;
}

/** Whether the next reply must introduce the agent. */
export function mustIntroduce({ introduction, setup }: SessionState): boolean {
  return !introduction.heard && introduction.attempts < setup.policy.introduction.attempts;
}

/** Whether the next reply of the model is replaced by the message with which the agent introduces itself. */
export function saysFirstMessage(state: SessionState): boolean {
  return state.setup.opening?.hasMessage === true && mustIntroduce(state);
}

/**
 * Handles the end of an introduction. If the caller has hardly heard it, tells the model to introduce itself again, up
 * to the maximum number of introductions.
 */
export function onIntroductionOver(state: SessionState, item: PlaybackItem, complete: boolean): SessionStep {
  const { introduction, setup } = state;
  if (item.kind !== 'introduction' || introduction.heard) return [state, []];
  const heard = complete || item.playedMs >= setup.policy.introduction.heardAfterMs;
  const next = { ...state, introduction: { heard, attempts: introduction.attempts + 1 } };
  return [next, mustIntroduce(next) ? [{ type: 'add_to_history', from: 'phone', text: INTRODUCE_AGAIN }] : []];
}
