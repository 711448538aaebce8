import { bargeIn } from './barge-in.js';
import { callerWaits } from './filler.js';
import type { SessionPolicy } from './policy.js';
import { answerNote } from './replies.js';
import { callerHeard } from './silence.js';
import { inOrder, isClosing, type SessionState, type SessionStep } from './state.js';

/** A digit was pressed: it stops the agent, and joins those before it. */
export function onDigit(state: SessionState, digit: string, atMs: number): SessionStep {
  const { dtmf, setup } = state;
  const digits = dtmf.digits + digit;
  const { minGapMs } = setup.policy.dtmf;
  const firstAtMs = dtmf.digits === '' ? atMs : dtmf.firstAtMs;
  const isComplete = isWholeEntry(digits, setup.policy.dtmf) && atMs >= (dtmf.toldAtMs ?? -Infinity) + minGapMs;
  return inOrder(
    callerHeard({ ...state, dtmf: { ...dtmf, digits, firstAtMs, lastAtMs: atMs } }, atMs),
    (next) => bargeIn(next, atMs),
    (next) => (isComplete ? completeDigits(next, atMs) : next),
  );
}

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
  const { digits, firstAtMs } = state.dtmf;
  if (digits === '') return [state, []];
  const endMs = Math.round(atMs);
  const startMs = Math.max(0, Math.min(endMs - 1, Math.round(firstAtMs)));
  const done: SessionState = {
    ...state,
    turns: { ...state.turns, told: state.turns.told + 1 },
    dtmf: { digits: '', firstAtMs: 0, lastAtMs: 0, toldAtMs: atMs },
  };
  return inOrder(
    [done, [{ type: 'store_turn', speaker: 'caller', text: dtmfInTranscript(digits), startMs, endMs }]],
    (next) =>
      isClosing(next)
        ? next
        : answerNote(
            callerWaits(next, { sinceMs: atMs, knownMs: atMs }),
            `The far end pressed these keys: ${spacedDigits(digits)}`,
            atMs,
            { digits },
          ),
  );
}

export function dtmfDueMs({ dtmf, setup }: SessionState): number | undefined {
  const { pauseMs, minGapMs } = setup.policy.dtmf;
  if (dtmf.digits === '') return undefined;
  if (!isWholeEntry(dtmf.digits, setup.policy.dtmf)) return dtmf.lastAtMs + pauseMs;
  return Math.max(dtmf.lastAtMs, (dtmf.toldAtMs ?? 0) + minGapMs);
}
