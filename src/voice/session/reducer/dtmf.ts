import { bargeIn } from './barge-in.js';
import { startReplyWait } from './filler.js';
import type { SessionPolicy } from './policy.js';
import { replyToNote } from './replies.js';
import { resetSilence } from './silence.js';
import {
  countPersonTurn,
  engineCompletesDigits,
  inOrder,
  isClosing,
  type SessionState,
  type SessionStep,
} from './state.js';

/**
 * Handles a DTMF digit: adds it to the digits entered so far and interrupts the agent, unless these digits need no
 * reply. Ignores digits beyond the maximum of an entry, which come until a full entry may be completed.
 */
export function onDigit(state: SessionState, digit: string, atMs: number): SessionStep {
  if (isFullEntry(state)) return [state, []];
  const { dtmf, setup } = state;
  const digits = dtmf.digits + digit;
  const { minGapMs } = setup.policy.dtmf;
  const firstAtMs = dtmf.digits === '' ? atMs : dtmf.firstAtMs;
  const isComplete =
    !engineCompletesDigits(state) &&
    isCompleteEntry(digits, setup.policy.dtmf) &&
    atMs >= (dtmf.completedAtMs ?? -Infinity) + minGapMs;
  return inOrder(
    resetSilence({ ...state, dtmf: { ...dtmf, digits, firstAtMs, lastAtMs: atMs, isWhole: false } }, atMs),
    (next) => (needsReply(next) ? bargeIn(next, atMs) : next),
    (next) => (isComplete ? completeDigits(next, atMs) : next),
  );
}

/** Whether the digits entered so far have the maximum length, so that no further one belongs to them. */
export const isFullEntry = ({ dtmf, setup }: SessionState) => dtmf.digits.length >= setup.policy.dtmf.maxDigits;

/** The engine reports that the digits form a complete answer. */
export function onDigitsEntered(state: SessionState, atMs: number): SessionState | SessionStep {
  const { dtmf, setup } = state;
  if (!needsReply(state)) return state;
  if (atMs >= (dtmf.completedAtMs ?? -Infinity) + setup.policy.dtmf.minGapMs) return completeDigits(state, atMs);
  return { ...state, dtmf: { ...dtmf, isWhole: true } };
}

/** Whether the digits entered so far need a reply. */
export function needsReply(state: SessionState): boolean {
  const { digits } = state.dtmf;
  return digits !== '' && !(engineCompletesDigits(state) && consistsOf(state.setup.policy.dtmf.endDigit, digits));
}

function consistsOf(digit: string, digits: string): boolean {
  for (const each of digits) if (each !== digit) return false;
  return true;
}

/**
 * If the engine decides when digits are complete, stores the digits entered so far and requests no reply to them,
 * because the caller's speech replaces them.
 */
export function dropDigits(state: SessionState, atMs: number): SessionStep {
  return engineCompletesDigits(state) ? storeDigits(state, atMs) : [state, []];
}

/**
 * Whether the caller is entering digits, and the engine decides when they are complete. Meanwhile a noise must not be
 * answered, because it may be the tones of the digits.
 */
export const isEnteringDigits = (state: SessionState) => engineCompletesDigits(state) && needsReply(state);

/** Whether the digits are complete: at the maximum length, or ended by the end digit after at least one number. */
export function isCompleteEntry(digits: string, { endDigit, maxDigits }: SessionPolicy['dtmf']): boolean {
  return digits.length >= maxDigits || (digits.endsWith(endDigit) && /\d/.test(digits));
}

/** Separates digits by spaces, as a model reads and a person says them. */
export function spacedDigits(digits: string): string {
  return digits.split('').join(' ');
}

/** Transcript text of one DTMF entry. */
export function digitsInTranscript(digits: string): string {
  return `(keys: ${spacedDigits(digits)})`;
}

/**
 * Completes the entered DTMF digits: stores them in the transcript and, unless the session is ending, requests a reply
 * to them.
 */
export function completeDigits(state: SessionState, atMs: number): SessionStep {
  const { digits } = state.dtmf;
  if (digits === '') return [state, []];
  const isAnswered = needsReply(state);
  return inOrder(storeDigits(state, atMs), (next) =>
    isAnswered && !isClosing(next) ? replyToDigits(next, digits, atMs) : next,
  );
}

function replyToDigits(state: SessionState, digits: string, atMs: number): SessionStep {
  const introduction = engineCompletesDigits(state) ? { ...state.introduction, heard: true } : state.introduction;
  const waiting = startReplyWait({ ...state, introduction }, { sinceMs: atMs, knownMs: atMs });
  const note = `The other person pressed these keys: ${spacedDigits(digits)}`;
  return replyToNote(waiting, note, atMs, { task: 'digits', digits });
}

function storeDigits(state: SessionState, atMs: number): SessionStep {
  const { digits, firstAtMs } = state.dtmf;
  if (digits === '') return [state, []];
  const endMs = Math.round(atMs);
  const startMs = Math.max(0, Math.min(endMs - 1, Math.round(firstAtMs)));
  const done: SessionState = {
    ...countPersonTurn(state),
    dtmf: { digits: '', firstAtMs: 0, lastAtMs: 0, completedAtMs: atMs },
  };
  return [done, [{ type: 'store_turn', speaker: 'caller', text: digitsInTranscript(digits), startMs, endMs }]];
}

export function dtmfDueMs({ dtmf, setup }: SessionState): number | undefined {
  const { pauseMs, minGapMs } = setup.policy.dtmf;
  if (dtmf.digits === '') return undefined;
  const isWhole = dtmf.isWhole === true || isCompleteEntry(dtmf.digits, setup.policy.dtmf);
  if (!isWhole) return dtmf.lastAtMs + pauseMs;
  return Math.max(dtmf.lastAtMs, (dtmf.completedAtMs ?? 0) + minGapMs);
}
