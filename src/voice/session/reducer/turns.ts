import type { SessionEvent } from './events.js';
import { bargeIn, bargeInByWords, isAside } from './barge-in.js';
import { dropDigits, isEnteringDigits } from './dtmf.js';
import { startReplyWait, makeFillerDue, postponeFiller } from './filler.js';
import { replyToNote, replyToTurn, replyToTyped, beginEarlyReply, dropEarlyReply } from './replies.js';
import { resetSilence } from './silence.js';
import { withoutEarlierTone } from './voicemail.js';
import {
  countPersonTurn,
  inOrder,
  isAgentSpeaking,
  isOnlyFiller,
  isClosing,
  isReplyRunning,
  without,
  type OpenVoice,
  type SessionState,
  type SessionStep,
} from './state.js';

type EventOf<T extends SessionEvent['type']> = Extract<SessionEvent, { type: T }>;

const NOISE = 'The other person made a noise, without words. Continue where you stopped.';
const NOT_UNDERSTOOD = 'The other person said something that could not be understood. Ask them to repeat it.';

export function onVoiceStarted(
  state: SessionState,
  { startMs, streamMs, atMs }: EventOf<'voice_started'>,
): SessionStep {
  const { turns } = state;
  const ownStartMs = Math.max(startMs, turns.overUntilMs);
  const voice = turns.voice ?? newVoice(ownStartMs, streamMs, atMs - Math.max(0, streamMs - ownStartMs));
  const heard = withTurns(withoutEarlierTone(state, startMs), {
    isOpen: true,
    openedAtMs: turns.isOpen ? turns.openedAtMs : atMs,
    isVoiced: true,
    lastVoiceAtMs: atMs,
    // A response to an earlier noise says nothing about the words that follow.
    voice: {
      ...voice,
      hasResponse: voice.hasResponse && !voice.ended,
      endMs: streamMs,
      lastAudioAtMs: atMs,
      ended: false,
    },
  });
  return inOrder(resetSilence(heard, atMs), (next) => postponeFiller(next, atMs));
}

export function onVoicePaused(state: SessionState, { endMs, lastVoiceAtMs }: EventOf<'voice_paused'>): SessionStep {
  const { voice } = state.turns;
  const heard = resetSilence(withoutEarlierTone(state, endMs), Math.max(lastVoiceAtMs, state.silence.quietSinceMs));
  const paused = withTurns(heard, { isVoiced: false, lastVoiceAtMs });
  if (voice === undefined) return [paused, []];
  // A turn ended in the middle of this voice, and no voice followed.
  if (endMs <= voice.startMs) return [withoutVoice(paused), []];
  return [withTurns(paused, { voice: { ...voice, endMs, lastAudioAtMs: lastVoiceAtMs } }), []];
}

/** Handles the end of a turn according to VAD. The turn ends if STT has already proposed its end. */
export function onVoiceEnded(state: SessionState, { atMs, streamMs }: EventOf<'voice_ended'>): SessionStep {
  const { voice, mayEnd } = state.turns;
  const closed = withTurns(state, { isOpen: false, isVoiced: false });
  if (voice === undefined) return [closed, []];
  const ended = withTurns(closed, { voice: { ...voice, ended: true } });
  const endsHere = state.setup.capabilities.endsTurns === 'session' && mayEnd !== undefined;
  return endsHere ? endTurn(ended, mayEnd, atMs, { streamMs }) : [ended, []];
}

export function onWords(state: SessionState, event: EventOf<'words'>): SessionStep {
  return inOrder(resetSilence(withWords(state, event), event.atMs), (next) =>
    next.turns.isOpen ? bargeInByWords(next, event.atMs) : next,
  );
}

export function onTurnMayEnd(state: SessionState, event: EventOf<'turn_may_end'>): SessionStep {
  const next = withTurns(withWords(state, event), { mayEnd: event.text });
  const endsHere = state.setup.capabilities.endsTurns === 'session' && !state.turns.isOpen;
  return endsHere
    ? endTurn(next, event.text, event.atMs, { streamMs: event.streamMs })
    : beginEarlyReply(next, event.text, event.atMs);
}

export function onTurnContinued(state: SessionState): SessionStep {
  return dropEarlyReply(withoutMayEnd(state));
}

/** Stores the words of the turn so far. If VAD detected no voice, assumes some, so that the turn comes to an end. */
function withWords(state: SessionState, { text, streamMs, atMs }: EventOf<'words' | 'turn_may_end'>): SessionState {
  const { turns, setup } = state;
  const startMs = Math.max(turns.overUntilMs, streamMs - setup.policy.turns.unheardWordsMs);
  const voice = turns.voice ?? { ...newVoice(startMs, streamMs, atMs), ended: !turns.isOpen };
  return withTurns(state, {
    words: text,
    wordsAtMs: text === turns.words ? turns.wordsAtMs : atMs,
    voice: { ...voice, hasResponse: true },
  });
}

/** Ends the turn with the event's words, as the engine decided. */
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
  const isAnswered = !isEnteringDigits(state);
  return endTurn(state, text, atMs, { streamMs, ...own, showsPerson: false, isAnswered });
}

/** Handles a typed turn: interrupts the agent and replies. Does not change a spoken turn that is under way. */
export function onTurnTyped(state: SessionState, { text, atMs }: EventOf<'turn_typed'>): SessionStep {
  const endMs = Math.round(atMs);
  return inOrder(
    bargeIn(state, atMs),
    (next) => dropDigits(next, atMs),
    (next) => [
      without(resetSilence(countPersonTurn(next), atMs), 'pendingNote'),
      [{ type: 'store_turn', speaker: 'caller', text, startMs: Math.max(0, endMs - 1), endMs }],
    ],
    (next) =>
      isClosing(next) ? next : replyToTyped(startReplyWait(next, { sinceMs: endMs, knownMs: atMs }), text, atMs),
  );
}

interface TurnEnd {
  /** End of the caller's audio so far, if known. */
  streamMs?: number;
  /** Start and end of the voice of the turn, if known. */
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
  const counted = how.showsPerson === false ? state : countPersonTurn(state);
  const over = withTurns(withoutMayEnd(withoutVoice(counted)), { words: '', overUntilMs });
  const voiceContinues = isVoiced || (how.voice !== undefined && voice !== undefined && voice.endMs > how.voice.endMs);
  const rest = how.voice !== undefined && voice !== undefined ? { ...voice, startMs: overUntilMs } : undefined;
  const next = voiceContinues ? withTurns(over, { voice: rest ?? newVoice(overUntilMs, overUntilMs, atMs) }) : over;
  const turn = { text, ...timesOfTurn(how, turns, at) };
  return inOrder(
    [
      without(resetSilence(next, atMs), 'pendingNote'),
      [{ type: 'discard_turn' }, { type: 'store_turn', speaker: 'caller', ...turn }],
    ],
    (heard) => {
      if (isClosing(heard) || how.isAnswered === false) return heard;
      if (isAside(heard, turn.endMs - turn.startMs, text))
        return [heard, [{ type: 'add_to_history', from: 'caller', text }]];
      return replyToTurn(startReplyWait(heard, { sinceMs: turn.endMs, knownMs: atMs }), text, atMs);
    },
  );
}

/** Start and end of the turn, on the carrier's clock. */
function timesOfTurn(how: TurnEnd, { voice, isVoiced }: SessionState['turns'], at: number) {
  if (how.voice !== undefined) return { startMs: Math.round(how.voice.startMs), endMs: Math.round(how.voice.endMs) };
  const voiceEndMs = isVoiced ? how.streamMs : voice?.endMs;
  const endMs = Math.min(voiceEndMs ?? at, at);
  const startMs = Math.min(voice?.startMs ?? endMs - 500, endMs - 1);
  return { startMs: Math.max(0, Math.round(startMs)), endMs: Math.round(endMs) };
}

/** Ends voice that contained no words. Requests a reply only if the voice had interrupted the agent. */
function endAsNoise(state: SessionState, atMs: number): SessionStep {
  const { pendingNote } = state;
  const quiet: SessionStep = [withoutVoice(state), [{ type: 'discard_turn' }]];
  const isAnswered = isClosing(state) || isReplyRunning(state) || (isAgentSpeaking(state) && !isOnlyFiller(state));
  if (pendingNote === undefined || isAnswered) return quiet;
  if (pendingNote === 'rest' && state.setup.policy.bargeIn.resumesAfterNoise === false)
    return inOrder(quiet, (next) => without(next, 'pendingNote'));
  return inOrder(quiet, (next) => replyToNote(next, pendingNote === 'rest' ? NOISE : NOT_UNDERSTOOD, atMs));
}

export function onSttAlive(state: SessionState): SessionState {
  const { voice } = state.turns;
  return voice === undefined ? state : withTurns(state, { voice: { ...voice, hasResponse: true } });
}

/** Handles a lost STT stream. A new stream receives the turn's audio again, and a waiting caller hears a filler. */
export function onSttLost(state: SessionState, atMs: number): SessionStep {
  const { voice } = state.turns;
  const isWaiting = voice !== undefined && voice.ended && mayContainWords(state, voice);
  return inOrder(dropEarlyReply(restartVoiceTimeouts(withoutMayEnd(withTurns(state, { words: '' })), atMs)), (next) =>
    isWaiting ? makeFillerDue({ ...next, pendingNote: next.pendingNote ?? 'question' }, atMs) : next,
  );
}

/** Handles a new STT provider, which may end turns in another way than the one before. */
export function onSttChanged(state: SessionState, event: EventOf<'recogniser_changed'>): SessionState {
  const { setup } = state;
  const { policy, capabilities } = setup;
  const turns = { ...policy.turns, decidedWithinMs: event.decidedWithinMs };
  return {
    ...state,
    setup: {
      ...setup,
      policy: { ...policy, turns },
      capabilities: { ...capabilities, endsTurns: event.endsTurns },
    },
  };
}

/** Restarts the timeouts of the current voice, because a new STT stream must transcribe it. */
export function restartVoiceTimeouts(state: SessionState, atMs: number): SessionState {
  const { voice } = state.turns;
  if (voice === undefined) return state;
  return withTurns(state, { voice: { ...voice, lastAudioAtMs: atMs, hasResponse: false, isFinalizeRequested: false } });
}

/** Returns the next decision about the current voice, which must end as a turn or as noise, and when it is due. */
function nextDecision(state: SessionState): { dueMs: number; take(atMs: number): SessionStep } | undefined {
  const { turns, setup } = state;
  const { voice, words } = turns;
  const { policy } = setup;
  if (voice === undefined) return undefined;
  const turn = (atMs: number) => endTurn(state, words, atMs);
  const decided = { dueMs: turns.wordsAtMs + policy.turns.decidedWithinMs, take: turn };
  const hasWords = words !== '';
  if (!voice.ended || (hasWords && setup.capabilities.endsTurns === 'engine')) return hasWords ? decided : undefined;
  const hurry = {
    dueMs: voice.lastAudioAtMs + policy.turns.hurryAfterMs,
    take: () => requestFinalTranscript(state, voice),
  };
  const giveUpMs = voice.lastAudioAtMs + policy.turns.giveUpAfterMs;
  const verdict = hasWords
    ? { dueMs: Math.max(giveUpMs, turns.wordsAtMs + policy.turns.settledAfterMs), take: turn }
    : voice.hasResponse
      ? { dueMs: giveUpMs, take: (atMs: number) => endAsNoise(state, atMs) }
      : {
          dueMs: voice.lastAudioAtMs + policy.turns.stalledAfterMs,
          take: (atMs: number) => onSttStalled(state, voice, atMs),
        };
  const first = voice.isFinalizeRequested || verdict.dueMs <= hurry.dueMs ? verdict : hurry;
  return hasWords && decided.dueMs < first.dueMs ? decided : first;
}

function requestFinalTranscript(state: SessionState, voice: OpenVoice): SessionStep {
  return [withTurns(state, { voice: { ...voice, isFinalizeRequested: true } }), [{ type: 'finalize_transcript' }]];
}

/** Reconnects to STT, which sends no words for the turn. A turn whose voice is too short for words ends as noise. */
function onSttStalled(state: SessionState, voice: OpenVoice, atMs: number): SessionStep {
  if (!mayContainWords(state, voice)) return endAsNoise(state, atMs);
  return [restartVoiceTimeouts(state, atMs), [{ type: 'reconnect_stt' }]];
}

export const turnDueMs = (state: SessionState) => nextDecision(state)?.dueMs;

export function onTurnTimer(state: SessionState, atMs: number): SessionStep {
  return nextDecision(state)?.take(atMs) ?? [state, []];
}

/** Stores words of an unfinished turn at the end of the call. */
export function flushWords(state: SessionState, atMs: number): SessionStep {
  const { words, voice } = state.turns;
  if (words === '') return [state, []];
  const endMs = Math.round(voice?.endMs ?? atMs);
  const startMs = Math.round(Math.min(voice?.startMs ?? endMs - 500, endMs - 1));
  return [
    withTurns(countPersonTurn(state), { words: '' }),
    [{ type: 'store_turn', speaker: 'caller', text: words, startMs, endMs }],
  ];
}

function mayContainWords({ setup }: SessionState, { startMs, endMs }: OpenVoice): boolean {
  return endMs - startMs >= setup.policy.turns.voiceWithWordsMs;
}

function newVoice(startMs: number, endMs: number, sinceAtMs: number): OpenVoice {
  return {
    startMs,
    endMs,
    sinceAtMs,
    lastAudioAtMs: sinceAtMs,
    ended: false,
    hasResponse: false,
    isFinalizeRequested: false,
  };
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
