import type { AnsweredBy } from '../../../kernel/call-state.js';
import type { SessionEvent } from './events.js';
import { closeWith } from './closing.js';
import { expectItem } from './playback.js';
import { answerNote, stopReply } from './replies.js';
import { inOrder, isClosing, type SessionState, type SessionStep } from './state.js';

type EventOf<T extends SessionEvent['type']> = Extract<SessionEvent, { type: T }>;

/** The carrier's detection reports who answered. */
export function onAnsweredBy(state: SessionState, event: EventOf<'answered_by'>): SessionStep {
  const next: SessionState = { ...state, voicemail: { ...state.voicemail, carrierSays: event.who } };
  return event.who === 'voicemail' && !isClosing(next) ? meetMachine(next, event.atMs) : [next, []];
}

/** Ignores the engine's detection if speech, DTMF or the carrier prove a person, because it is less certain. */
export function onMachineHeard(state: SessionState, atMs: number): SessionStep {
  const isPerson = state.turns.byPerson > 0 || state.dtmf.digits !== '' || state.voicemail.carrierSays === 'human';
  return isPerson ? [state, []] : meetMachine(state, atMs);
}

/** An answering machine starts recording after a tone, unless its greeting continues. */
export function onToneHeard(state: SessionState, { streamMs, atMs }: EventOf<'tone_heard'>): SessionState {
  return { ...state, voicemail: { ...state.voicemail, tone: { endMs: streamMs, heardAtMs: atMs } } };
}

/** Voice at this stream time shows that an earlier tone was not the end of a greeting. */
export function withoutEarlierTone(state: SessionState, voiceMs: number): SessionState {
  const { tone, ...voicemail } = state.voicemail;
  if (tone === undefined || voiceMs <= tone.endMs + state.setup.policy.voicemail.toneTailMs) return state;
  return { ...state, voicemail };
}

/** Handles an answering machine, once per call: hang up, or wait to leave a message. */
export function meetMachine(state: SessionState, atMs: number): SessionStep {
  const { voicemail, setup } = state;
  if (voicemail.met || setup.isInbound === true || isClosing(state)) return [state, []];
  const met: SessionState = { ...state, voicemail: { ...voicemail, met: true } };
  if (setup.voicemail.action === 'continue') return [met, []];
  const end = { type: 'end', reason: 'voicemail' } as const;
  if (setup.voicemail.action === 'hang_up') return closeWith(met, end, atMs);
  return inOrder(stopReply(met, atMs), (next) => ({
    ...next,
    voicemail: { ...next.voicemail, waitingSinceMs: atMs },
    closing: { end, otherWays: [] },
  }));
}

/** The message is due after a silence, or when the greeting takes too long. */
export function voicemailDueMs({ voicemail, turns, setup }: SessionState): number | undefined {
  const { waitingSinceMs, tone, carrierSays } = voicemail;
  if (waitingSinceMs === undefined) return undefined;
  const { greetingWithinMs, quietAfterToneMs, quietWithoutToneMs } = setup.policy.voicemail;
  const latestMs = waitingSinceMs + greetingWithinMs;
  if (turns.isOpen) return latestMs;
  const quietMs = tone !== undefined || carrierSays === 'voicemail' ? quietAfterToneMs : quietWithoutToneMs;
  const quietSinceMs = Math.max(turns.lastVoiceAtMs, waitingSinceMs, tone?.heardAtMs ?? 0);
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
    return inOrder(answerNote(speaking, note, atMs, { as: 'message', task: 'leave_message' }), (next) => ({
      ...next,
      closing: { ...closing, untilMs, lastReplyId: next.reply?.id ?? '' },
    }));
  }
  const count = state.count + 1;
  const itemId = `line-${count}`;
  return [
    expectItem({ ...speaking, count, closing: { ...closing, untilMs, lastItemId: itemId } }, itemId, 'message'),
    [{ type: 'say', itemId, line: 'voicemail_message', by: 'voice' }],
  ];
}

/** Who answered, as far as known; undefined for an inbound call, which the agent answers. */
export function whoAnswered({ setup, voicemail, turns }: SessionState): AnsweredBy | undefined {
  if (setup.isInbound === true) return undefined;
  if (voicemail.met || voicemail.carrierSays === 'voicemail') return 'voicemail';
  return voicemail.carrierSays === 'human' || turns.byPerson > 0 ? 'human' : 'unknown';
}

/** The field `answeredBy` of an engine's result. */
export function answeredByInResult(state: SessionState): { answeredBy?: AnsweredBy } {
  const answeredBy = whoAnswered(state);
  return answeredBy === undefined ? {} : { answeredBy };
}

/** Stores who answered as soon as it is known, because the call may continue in another media process. */
export function storeAnsweredBy(before: SessionState, state: SessionState): SessionStep {
  const who = whoAnswered(state);
  return [state, who === undefined || who === whoAnswered(before) ? [] : [{ type: 'store_answered_by', who }]];
}
