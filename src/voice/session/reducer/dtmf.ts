import { bargeIn } from './barge-in.js';
import { callerWaits } from './filler.js';
import type { SessionPolicy } from './policy.js';
import { answerNote } from './replies.js';
import { callerHeard } from './silence.js';
import { completesDigits, inOrder, isClosing, type SessionState, type SessionStep } from './state.js';

/** A digit was pressed: it stops the agent, and joins those before it. One that ends nothing stops nobody. */
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

/** The engine says that what was pressed answers what it asks. */
export function onDigitsEntered(state: SessionState, atMs: number): SessionState | SessionStep {
  const { dtmf, setup } = state;
  if (!isWorthAnAnswer(state)) return state;
  if (atMs >= (dtmf.completedAtMs ?? -Infinity) + setup.policy.dtmf.minGapMs) return completeDigits(state, atMs);
  return { ...state, dtmf: { ...dtmf, isWhole: true } };
}

/** Whether what was pressed until now wants an answer. */
export function isWorthAnAnswer(state: SessionState): boolean {
  const { digits } = state.dtmf;
  return digits !== '' && !(completesDigits(state) && isOnly(state.setup.policy.dtmf.endDigit, digits));
}

const isOnly = (digit: string, digits: string) => digits.split('').every((each) => each === digit);

/** Words take the place of what was being keyed in, for an engine that knows what is asked. */
export function dropDigits(state: SessionState, atMs: number): SessionStep {
  return completesDigits(state) ? stored(state, atMs) : [state, []];
}

/** A noise, the tones of the keys among them, takes nothing away of what is being keyed in. */
export const isKeyingIn = (state: SessionState) => completesDigits(state) && isWorthAnAnswer(state);

/** Whether nothing more is waited for: an end digit that ends nothing may be the first of many. */
export function isWholeEntry(digits: string, { endDigit, maxDigits }: SessionPolicy['dtmf']): boolean {
  return digits.length >= maxDigits || (digits.endsWith(endDigit) && /\d/.test(digits));
}

/** Digits one by one, as a model reads and a person says them. */
export function spacedDigits(digits: string): string {
  return digits.split('').join(' ');
}

/** One entry of DTMF digits, as the transcript has it. */
export function dtmfInTranscript(digits: string): string {
  return `(keys: ${spacedDigits(digits)})`;
}

/** What was pressed is one entry: in the transcript in any case, and for the model unless the call is ending. */
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
