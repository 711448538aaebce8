import { bargeIn } from './barge-in.js';
import { callerWaits } from './filler.js';
import type { SessionPolicy } from './policy.js';
import { answerNote } from './replies.js';
import { callerHeard } from './silence.js';
import { completesDigits, inOrder, isClosing, type SessionState, type SessionStep } from './state.js';

/** A DTMF digit interrupts the agent and joins earlier digits; an end digit that completes nothing does not. */
export function onDigit(state: SessionState, digit: string, atMs: number): SessionStep {
  const { dtmf, setup } = state;
  const digits = dtmf.digits + digit;
  const { minGapMs } = setup.policy.dtmf;
  const firstAtMs = dtmf.digits === '' ? atMs : dtmf.firstAtMs;
  const isComplete =
    !completesDigits(state) &&
    isWholeEntry(digits, setup.policy.dtmf) &&
    atMs >= (dtmf.completedAtMs ?? -Infinity) + minGapMs;
  return inOrder(
    callerHeard({ ...state, dtmf: { ...dtmf, digits, firstAtMs, lastAtMs: atMs, isWhole: false } }, atMs),
    (next) => (isWorthAnAnswer(next) ? bargeIn(next, atMs) : next),
    (next) => (isComplete ? completeDigits(next, atMs) : next),
  );
}

/** The engine reports that the digits form a complete answer. */
export function onDigitsEntered(state: SessionState, atMs: number): SessionState | SessionStep {
  const { dtmf, setup } = state;
  if (!isWorthAnAnswer(state)) return state;
  if (atMs >= (dtmf.completedAtMs ?? -Infinity) + setup.policy.dtmf.minGapMs) return completeDigits(state, atMs);
  return { ...state, dtmf: { ...dtmf, isWhole: true } };
}

/** Whether the digits entered so far need a reply. */
export function isWorthAnAnswer(state: SessionState): boolean {
  const { digits } = state.dtmf;
  return digits !== '' && !(completesDigits(state) && isOnly(state.setup.policy.dtmf.endDigit, digits));
}

const isOnly = (digit: string, digits: string) => digits.split('').every((each) => each === digit);

/** If the engine completes digits, spoken words replace the digits entered so far. */
export function dropDigits(state: SessionState, atMs: number): SessionStep {
  return completesDigits(state) ? stored(state, atMs) : [state, []];
}

/** Whether digits are being entered: a noise, such as the tones themselves, then discards nothing. */
export const isKeyingIn = (state: SessionState) => completesDigits(state) && isWorthAnAnswer(state);

/** Whether the entry is complete: at its maximum length, or ended by the end digit after at least one number. */
export function isWholeEntry(digits: string, { endDigit, maxDigits }: SessionPolicy['dtmf']): boolean {
  return digits.length >= maxDigits || (digits.endsWith(endDigit) && /\d/.test(digits));
}

/** Separates digits by spaces, as a model reads and a person says them. */
export function spacedDigits(digits: string): string {
  return digits.split('').join(' ');
}

/** Transcript text of one DTMF entry. */
export function dtmfInTranscript(digits: string): string {
  return `(keys: ${spacedDigits(digits)})`;
}

/** Completes a DTMF entry: stores it in the transcript and, unless the session is closing, requests a reply to it. */
export function completeDigits(state: SessionState, atMs: number): SessionStep {
  const { digits } = state.dtmf;
  if (digits === '') return [state, []];
  const isAnswered = isWorthAnAnswer(state);
  return inOrder(stored(state, atMs), (next) => (isAnswered && !isClosing(next) ? answered(next, digits, atMs) : next));
}

function answered(state: SessionState, digits: string, atMs: number): SessionStep {
  const introduction = completesDigits(state) ? { ...state.introduction, heard: true } : state.introduction;
  const waiting = callerWaits({ ...state, introduction }, { sinceMs: atMs, knownMs: atMs });
  const note = `The far end pressed these keys: ${spacedDigits(digits)}`;
  return answerNote(waiting, note, atMs, { task: 'digits', digits });
}

function stored(state: SessionState, atMs: number): SessionStep {
  const { digits, firstAtMs } = state.dtmf;
  if (digits === '') return [state, []];
  const endMs = Math.round(atMs);
  const startMs = Math.max(0, Math.min(endMs - 1, Math.round(firstAtMs)));
  const done: SessionState = {
    ...state,
    turns: { ...state.turns, byPerson: state.turns.byPerson + 1 },
    dtmf: { digits: '', firstAtMs: 0, lastAtMs: 0, completedAtMs: atMs },
  };
  return [done, [{ type: 'store_turn', speaker: 'caller', text: dtmfInTranscript(digits), startMs, endMs }]];
}

export function dtmfDueMs({ dtmf, setup }: SessionState): number | undefined {
  const { pauseMs, minGapMs } = setup.policy.dtmf;
  if (dtmf.digits === '') return undefined;
  const isWhole = dtmf.isWhole === true || isWholeEntry(dtmf.digits, setup.policy.dtmf);
  if (!isWhole) return dtmf.lastAtMs + pauseMs;
  return Math.max(dtmf.lastAtMs, (dtmf.completedAtMs ?? 0) + minGapMs);
}
