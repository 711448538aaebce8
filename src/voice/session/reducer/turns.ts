import type { SessionEvent } from './events.js';
import { bargeIn } from './barge-in.js';
import { dropDigits, isKeyingIn } from './dtmf.js';
import { callerWaits, fillNow, yieldFiller } from './filler.js';
import { answerNote, answerTurn, beginEarlyReply, dropEarlyReply } from './replies.js';
import { callerHeard } from './silence.js';
import { withoutEarlierTone } from './voicemail.js';
import {
  inOrder,
  isAgentSpeaking,
  isOnlyFilling,
  isClosing,
  isReplyRunning,
  without,
  type OpenVoice,
  type SessionState,
  type SessionStep,
} from './state.js';

type EventOf<T extends SessionEvent['type']> = Extract<SessionEvent, { type: T }>;

const NOISE = 'The far end made a noise, without words. Go on where you stopped.';
const NOT_UNDERSTOOD = 'The far end said something that could not be understood. Ask for it again.';

export function onVoiceStarted(
  state: SessionState,
  { startMs, streamMs, atMs }: EventOf<'voice_started'>,
): SessionStep {
  const { turns } = state;
  const ownStartMs = Math.max(startMs, turns.overUntilMs);
  const voice = turns.voice ?? newVoice(ownStartMs, streamMs, atMs - Math.max(0, streamMs - ownStartMs));
  const heard = withTurns(withoutEarlierTone(state, startMs), {
    isOpen: true,
    isVoiced: true,
    lastVoiceAtMs: atMs,
    voice: { ...voice, endMs: streamMs, cameAtMs: atMs, ended: false },
  });
  return inOrder(callerHeard(heard, atMs), (next) => yieldFiller(next, atMs));
}

export function onVoicePaused(state: SessionState, { endMs, lastVoiceAtMs }: EventOf<'voice_paused'>): SessionStep {
  const { voice } = state.turns;
  const heard = callerHeard(withoutEarlierTone(state, endMs), Math.max(lastVoiceAtMs, state.silence.quietSinceMs));
  const paused = withTurns(heard, { isVoiced: false, lastVoiceAtMs });
  if (voice === undefined) return [paused, []];
  // A turn ended in the middle of this voice, and no voice followed.
  if (endMs <= voice.startMs) return [withoutVoice(paused), []];
  return [withTurns(paused, { voice: { ...voice, endMs, cameAtMs: lastVoiceAtMs } }), []];
}

/** VAD reports the end of the turn: it ends if STT has already proposed so. */
export function onVoiceEnded(state: SessionState, { atMs, streamMs }: EventOf<'voice_ended'>): SessionStep {
  const { voice, mayEnd } = state.turns;
  const closed = withTurns(state, { isOpen: false, isVoiced: false });
  if (voice === undefined) return [closed, []];
  const ended = withTurns(closed, { voice: { ...voice, ended: true } });
  const endsHere = state.setup.capabilities.endsTurns === 'session' && mayEnd !== undefined;
  return endsHere ? endTurn(ended, mayEnd, atMs, { streamMs }) : [ended, []];
}

export function onWords(state: SessionState, event: EventOf<'words'>): SessionStep {
  return inOrder(callerHeard(understood(state, event), event.atMs), (next) =>
    next.turns.isOpen ? bargeIn(next, event.atMs) : next,
  );
}

export function onTurnMayEnd(state: SessionState, event: EventOf<'turn_may_end'>): SessionStep {
  const next = withTurns(understood(state, event), { mayEnd: event.text });
  const endsHere = state.setup.capabilities.endsTurns === 'session' && !state.turns.isOpen;
  return endsHere
    ? endTurn(next, event.text, event.atMs, { streamMs: event.streamMs })
    : beginEarlyReply(next, event.text, event.atMs);
}

export function onTurnGoesOn(state: SessionState): SessionStep {
  return dropEarlyReply(withoutMayEnd(state));
}

/** Words count as voice even if VAD did not detect any, so that their turn comes to an end. */
function understood(state: SessionState, { text, streamMs, atMs }: EventOf<'words' | 'turn_may_end'>): SessionState {
  const { turns, setup } = state;
  const startMs = Math.max(turns.overUntilMs, streamMs - setup.policy.turns.unheardWordsMs);
  const voice = turns.voice ?? { ...newVoice(startMs, streamMs, atMs), ended: !turns.isOpen };
  return withTurns(state, {
    words: text,
    wordsAtMs: text === turns.words ? turns.wordsAtMs : atMs,
    voice: { ...voice, answered: true },
  });
}

/** The engine ended the turn with the event's words. */
export function onTurnEnded(state: SessionState, event: EventOf<'turn_ended'>): SessionStep {
  const { text, streamMs, voice, holds, atMs } = event;
  // Limit the turn to audio that has arrived.
  const own = voice === undefined ? {} : { voice: { ...voice, endMs: Math.min(voice.endMs, streamMs) } };
  if (holds !== 'no_words') {
    const dropped = dropDigits(state, atMs);
    return inOrder(dropped, (next) =>
      endTurn(next, text, atMs, { streamMs, ...own, showsPerson: holds === undefined }),
    );
  }
  const isAnswered = !isKeyingIn(state);
  return endTurn(state, text, atMs, { streamMs, ...own, showsPerson: false, isAnswered });
}

interface TurnEnd {
  /** End of the caller's audio so far, if known. */
  streamMs?: number;
  /** Times of the turn's own voice, if known. */
  voice?: { startMs: number; endMs: number };
  /** Whether the words prove that a person is speaking. */
  showsPerson?: boolean;
  isAnswered?: boolean;
}

/** Ends the turn with these words: stores it and replies. */
export function endTurn(state: SessionState, text: string, atMs: number, how: TurnEnd = {}): SessionStep {
  const { turns } = state;
  const { voice, isVoiced } = turns;
  const at = Math.round(atMs);
  const overUntilMs = how.voice?.endMs ?? how.streamMs ?? (isVoiced ? at : (voice?.endMs ?? turns.overUntilMs));
  const byPerson = turns.byPerson + (how.showsPerson === false ? 0 : 1);
  const over = withTurns(withoutMayEnd(withoutVoice(state)), { words: '', overUntilMs, byPerson });
  const voiceContinues = isVoiced || (how.voice !== undefined && voice !== undefined && voice.endMs > how.voice.endMs);
  const rest = how.voice !== undefined && voice !== undefined ? { ...voice, startMs: overUntilMs } : undefined;
  const next = voiceContinues ? withTurns(over, { voice: rest ?? newVoice(overUntilMs, overUntilMs, atMs) }) : over;
  const turn = { text, ...spanOf(how, turns, at) };
  return inOrder(
    [
      without(callerHeard(next, atMs), 'owed'),
      [{ type: 'forget_turn' }, { type: 'store_turn', speaker: 'caller', ...turn }],
    ],
    (heard) =>
      isClosing(heard) || how.isAnswered === false
        ? heard
        : answerTurn(callerWaits(heard, { sinceMs: turn.endMs, knownMs: atMs }), text, atMs),
  );
}

/** Start and end of the turn, on the carrier's clock. */
function spanOf(how: TurnEnd, { voice, isVoiced }: SessionState['turns'], at: number) {
  if (how.voice !== undefined) return { startMs: Math.round(how.voice.startMs), endMs: Math.round(how.voice.endMs) };
  const voiceEndMs = isVoiced ? how.streamMs : voice?.endMs;
  const endMs = Math.min(voiceEndMs ?? at, at);
  const startMs = Math.min(voice?.startMs ?? endMs - 500, endMs - 1);
  return { startMs: Math.max(0, Math.round(startMs)), endMs: Math.round(endMs) };
}

/** Handles voice without words. */
function beNoise(state: SessionState, atMs: number): SessionStep {
  const { owed } = state;
  const quiet: SessionStep = [withoutVoice(state), [{ type: 'forget_turn' }]];
  const isAnswered = isClosing(state) || isReplyRunning(state) || (isAgentSpeaking(state) && !isOnlyFilling(state));
  if (owed === undefined || isAnswered) return quiet;
  return inOrder(quiet, (next) => answerNote(next, owed === 'rest' ? NOISE : NOT_UNDERSTOOD, atMs));
}

export function onRecogniserAlive(state: SessionState): SessionState {
  const { voice } = state.turns;
  return voice === undefined ? state : withTurns(state, { voice: { ...voice, answered: true } });
}

/** A new STT stream will receive the turn again; a waiting caller hears a filler. */
export function onRecogniserLost(state: SessionState, atMs: number): SessionStep {
  const { voice } = state.turns;
  const isWaiting = voice !== undefined && voice.ended && mayHoldWords(state, voice);
  return inOrder(dropEarlyReply(waitAnew(withoutMayEnd(withTurns(state, { words: '' })), atMs)), (next) =>
    isWaiting ? fillNow({ ...next, owed: next.owed ?? 'question' }, atMs) : next,
  );
}

/** A new STT stream must transcribe the current voice: restart its timeouts. */
export function waitAnew(state: SessionState, atMs: number): SessionState {
  const { voice } = state.turns;
  if (voice === undefined) return state;
  return withTurns(state, { voice: { ...voice, cameAtMs: atMs, answered: false, hurried: false } });
}

/** Every voice ends as a turn or a noise: returns the next decision about it, and when it is due. */
function nextVerdict(state: SessionState): { dueMs: number; take(atMs: number): SessionStep } | undefined {
  const { turns, setup } = state;
  const { voice, words } = turns;
  const { policy } = setup;
  if (voice === undefined) return undefined;
  const turn = (atMs: number) => endTurn(state, words, atMs);
  const decided = { dueMs: turns.wordsAtMs + policy.turns.decidedWithinMs, take: turn };
  const hasWords = words !== '';
  if (!voice.ended || (hasWords && setup.capabilities.endsTurns === 'engine')) return hasWords ? decided : undefined;
  const hurry = { dueMs: voice.cameAtMs + policy.turns.hurryAfterMs, take: () => hurried(state, voice) };
  const giveUpMs = voice.cameAtMs + policy.turns.giveUpAfterMs;
  const verdict = hasWords
    ? { dueMs: Math.max(giveUpMs, turns.wordsAtMs + policy.turns.settledAfterMs), take: turn }
    : voice.answered
      ? { dueMs: giveUpMs, take: (atMs: number) => beNoise(state, atMs) }
      : { dueMs: voice.cameAtMs + policy.turns.stalledAfterMs, take: (atMs: number) => stalled(state, voice, atMs) };
  const first = voice.hurried || verdict.dueMs <= hurry.dueMs ? verdict : hurry;
  return hasWords && decided.dueMs < first.dueMs ? decided : first;
}

function hurried(state: SessionState, voice: OpenVoice): SessionStep {
  return [withTurns(state, { voice: { ...voice, hurried: true } }), [{ type: 'hurry_recogniser' }]];
}

/** STT sends nothing at all: reconnect, unless the voice is too short for words. */
function stalled(state: SessionState, voice: OpenVoice, atMs: number): SessionStep {
  if (!mayHoldWords(state, voice)) return beNoise(state, atMs);
  return [waitAnew(state, atMs), [{ type: 'reopen_recogniser' }]];
}

export const turnDueMs = (state: SessionState) => nextVerdict(state)?.dueMs;

export function onTurnTimer(state: SessionState, atMs: number): SessionStep {
  return nextVerdict(state)?.take(atMs) ?? [state, []];
}

/** Stores words of an unfinished turn at the end of the call. */
export function flushWords(state: SessionState, atMs: number): SessionStep {
  const { words, voice } = state.turns;
  if (words === '') return [state, []];
  const endMs = Math.round(voice?.endMs ?? atMs);
  const startMs = Math.round(Math.min(voice?.startMs ?? endMs - 500, endMs - 1));
  return [
    withTurns(state, { words: '', byPerson: state.turns.byPerson + 1 }),
    [{ type: 'store_turn', speaker: 'caller', text: words, startMs, endMs }],
  ];
}

function mayHoldWords({ setup }: SessionState, { startMs, endMs }: OpenVoice): boolean {
  return endMs - startMs >= setup.policy.turns.voiceWithWordsMs;
}

function newVoice(startMs: number, endMs: number, sinceAtMs: number): OpenVoice {
  return { startMs, endMs, sinceAtMs, cameAtMs: sinceAtMs, ended: false, answered: false, hurried: false };
}

function withTurns(state: SessionState, turns: Partial<SessionState['turns']>): SessionState {
  return { ...state, turns: { ...state.turns, ...turns } };
}

function withoutVoice(state: SessionState): SessionState {
  const { voice: _, ...turns } = state.turns;
  return { ...state, turns };
}

function withoutMayEnd(state: SessionState): SessionState {
  const { mayEnd: _, ...turns } = state.turns;
  return { ...state, turns };
}
