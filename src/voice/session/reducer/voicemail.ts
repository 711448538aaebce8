import type { AnsweredBy } from '../../../kernel/call-state.js';
import type { SessionEvent } from './events.js';
import { closeWith } from './closing.js';
import { expectItem } from './playback.js';
import { replyToNote, stopReply } from './replies.js';
import { inOrder, isClosing, type SessionState, type SessionStep } from './state.js';

type EventOf<T extends SessionEvent['type']> = Extract<SessionEvent, { type: T }>;

/** So many answers to the agent prove a person: a greeting with pauses may seem to answer the introduction. */
const ANSWERS_OF_A_PERSON = 2;

/**
 * Handles the result of the carrier's answering machine detection. A result `voicemail` that comes after a person has
 * talked with the agent is late or wrong, and is ignored.
 */
export function onAnsweredBy(state: SessionState, event: EventOf<'answered_by'>): SessionStep {
  if (event.who === 'voicemail' && state.turns.answers >= ANSWERS_OF_A_PERSON) return [state, []];
  const next: SessionState = { ...state, voicemail: { ...state.voicemail, carrierResult: event.who } };
  return event.who === 'voicemail' && !isClosing(next) ? handleMachine(next, event.atMs) : [next, []];
}

/**
 * Handles an answering machine that the engine has detected. Ignores the detection, which is not certain, if speech,
 * DTMF or the carrier prove that a person answered.
 */
export function onMachineHeard(state: SessionState, atMs: number): SessionStep {
  const isPerson = state.turns.personTurns > 0 || state.dtmf.digits !== '' || state.voicemail.carrierResult === 'human';
  return isPerson ? [state, []] : handleMachine(state, atMs);
}

/** Stores a tone. An answering machine starts recording after a tone, unless its greeting continues. */
export function onToneHeard(state: SessionState, { streamMs, atMs }: EventOf<'tone_heard'>): SessionState {
  return { ...state, voicemail: { ...state.voicemail, tone: { endMs: streamMs, detectedAtMs: atMs } } };
}

/** Forgets an earlier tone if voice follows at this stream time, because the greeting has not ended then. */
export function withoutEarlierTone(state: SessionState, voiceMs: number): SessionState {
  const { tone, ...voicemail } = state.voicemail;
  if (tone === undefined || voiceMs <= tone.endMs + state.setup.policy.voicemail.toneTailMs) return state;
  return { ...state, voicemail };
}

/** Handles an answering machine, once per call: hangs up, waits to leave a message, or continues. */
export function handleMachine(state: SessionState, atMs: number): SessionStep {
  const { voicemail, setup } = state;
  if (voicemail.isDetected || setup.isInbound === true || isClosing(state)) return [state, []];
  const detected: SessionState = { ...state, voicemail: { ...voicemail, isDetected: true } };
  if (setup.voicemail.action === 'continue') return [detected, []];
  const end = { type: 'end', reason: 'voicemail' } as const;
  if (setup.voicemail.action === 'hang_up') return closeWith(detected, end, atMs);
  return inOrder(stopReply(detected, atMs), (next) => ({
    ...next,
    voicemail: { ...next.voicemail, waitingSinceMs: atMs },
    closing: { end, otherWays: [] },
  }));
}

/** When to speak the message: after a silence, or when the greeting takes too long. */
export function voicemailDueMs({ voicemail, turns, setup }: SessionState): number | undefined {
  const { waitingSinceMs, tone, carrierResult } = voicemail;
  if (waitingSinceMs === undefined) return undefined;
  const { greetingWithinMs, quietAfterToneMs, quietWithoutToneMs } = setup.policy.voicemail;
  const latestMs = waitingSinceMs + greetingWithinMs;
  if (turns.isOpen) return latestMs;
  const quietMs = tone !== undefined || carrierResult === 'voicemail' ? quietAfterToneMs : quietWithoutToneMs;
  const quietSinceMs = Math.max(turns.lastVoiceAtMs, waitingSinceMs, tone?.detectedAtMs ?? 0);
  return Math.min(latestMs, quietSinceMs + quietMs);
}

export function onVoicemailTimer(state: SessionState, atMs: number): SessionStep {
  const { voicemail, setup, closing } = state;
  if (closing === undefined) return [state, []];
  const { waitingSinceMs: _, ...rest } = voicemail;
  const untilMs = atMs + setup.policy.voicemail.messageWithinMs;
  const speaking: SessionState = { ...state, voicemail: rest, closing: { ...closing, untilMs } };
  if (!setup.voicemail.hasMessage) {
    const note = 'The answering machine is recording now. Say in two sentences who calls and why.';
    return inOrder(replyToNote(speaking, note, atMs, { as: 'message', task: 'leave_message' }), (next) => ({
      ...next,
      closing: { ...closing, untilMs, lastReplyId: next.reply?.id ?? '' },
    }));
  }
  const count = state.count + 1;
  const itemId = `line-${count}`;
  return [
    expectItem({ ...speaking, count, closing: { ...closing, untilMs, lastItemId: itemId } }, itemId, 'message'),
    [{ type: 'say', itemId, phrase: 'voicemail_message', by: 'voice' }],
  ];
}

/** Whether a person or a machine answered, as far as known; undefined for an inbound call, which the agent answers. */
export function answeredByOf({ setup, voicemail, turns }: SessionState): AnsweredBy | undefined {
  if (setup.isInbound === true) return undefined;
  if (voicemail.isDetected || voicemail.carrierResult === 'voicemail') return 'voicemail';
  return voicemail.carrierResult === 'human' || turns.personTurns > 0 ? 'human' : 'unknown';
}

/** The field `answeredBy` of an engine's result. */
export function answeredByInResult(state: SessionState): { answeredBy?: AnsweredBy } {
  const answeredBy = answeredByOf(state);
  return answeredBy === undefined ? {} : { answeredBy };
}

/** Stores `answeredBy` as soon as it is known, because the call may continue in another media process. */
export function storeAnsweredBy(before: SessionState, state: SessionState): SessionStep {
  const who = answeredByOf(state);
  return [state, who === undefined || who === answeredByOf(before) ? [] : [{ type: 'store_answered_by', who }]];
}
