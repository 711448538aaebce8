import type { TurnTaking } from '../../session/turn-taking.js';
import { ProviderError, type SpeechToText } from './ports.js';
import { openSteadyRecogniser } from './stt/steady.js';

/** Words that come without a pause being told are asked for so long after the caller's last voice. */
const HURRY_MS = 1_200;
/** What is known so long after the last voice is the turn. */
const GIVE_UP_MS = 2_000;
/** Words that have changed since then may still grow. */
const SETTLED_MS = 800;
/**
 * A recogniser that decides by meaning has decided by then: it forces an end after 5 s itself. Words that have not changed
 * for so long are the turn even if a noise goes on.
 */
const DECIDES_WITHIN_MS = 7_000;
/** A recogniser that answers nothing at all to a caller who spoke. */
const STALLED_MS = 3_500;
const FRAME_MS = 20;
/** Shorter voice need not hold words. */
const VOICE_WITH_WORDS_MS = 400;
/** About how long words were spoken that voice detection did not hear. */
const UNHEARD_WORDS_MS = 500;

/** Voice that belongs to no turn yet; ms from the start of the stream. */
interface CallerVoice {
  startMs: number;
  endMs: number;
  /**
   * When the last of it came, or was handed to another stream. Silence is counted from here and not from `endMs`: of
   * frames that come late the recogniser cannot know any more than we do.
   */
  cameMs: number;
  ended: boolean;
  answered: boolean;
  hurried: boolean;
}

export interface SpokenTurn {
  text: string;
  /** Ms from the start of the stream. */
  startMs: number;
  endMs: number;
}

export interface CallerTurnEvents {
  /** The caller has been making himself heard for so long, in ms. */
  onVoice(voiceMs: number): void;
  onWords(text: string): void;
  /** The turn is probably over; `onGoesOn` or `onTurn` follows. */
  onMayEnd(text: string): void;
  onGoesOn(): void;
  onTurn(turn: SpokenTurn): void;
  /** There was voice, but no words came of it. */
  onNoise(): void;
  /** The recogniser is being opened again; the caller may be waiting for an answer. */
  onTrouble(callerWaits: boolean): void;
  onGone(error: ProviderError): void;
}

export type CallerTurns = ReturnType<typeof createCallerTurns>;

/**
 * Puts together what voice detection and recogniser know of the caller: when a turn begins, what its words are, and when
 * it is over. A pause that the recogniser tells of ends the turn when our own detection agrees, unless the recogniser
 * decides by meaning.
 */
export function createCallerTurns(p: {
  turnTaking: TurnTaking;
  recogniser: SpeechToText;
  language: string;
  now: () => number;
  events: CallerTurnEvents;
  stalledMs?: number;
}) {
  const { turnTaking, now, events } = p;
  const stalledMs = p.stalledMs ?? STALLED_MS;
  let words = '';
  let wordsCameMs = 0;
  let mayEndText: string | undefined;
  let voice: CallerVoice | undefined;
  /** The end of the last frame, by the frames' clock. */
  let framesEndMs = 0;
  /** Voice before this belongs to a turn that is over; by the frames' clock. */
  let turnsOverMs = 0;

  const stream = openSteadyRecogniser({
    recogniser: p.recogniser,
    language: p.language,
    stallError: () => new ProviderError('recogniser', `sent nothing for ${stalledMs} ms`),
    events: {
      onWords(text) {
        understood(text);
        events.onWords(text);
      },
      onMayEnd(text) {
        understood(text);
        mayEndText = text;
        if (!p.recogniser.decidesTurns && turnTaking.openTurn() === undefined) endTurn(text);
        else events.onMayEnd(text);
      },
      onGoesOn() {
        mayEndText = undefined;
        events.onGoesOn();
      },
      onEnd: endTurn,
      onAlive: answered,
      onTrouble() {
        forgetWords();
        waitAnew();
        events.onTrouble(voice !== undefined && voice.ended && hasWords(voice));
      },
      onReopened: waitAnew,
      onGone: (error) => events.onGone(error),
    },
  });

  function answered(): void {
    if (voice !== undefined) voice.answered = true;
  }

  /** Words are voice, too, though nothing else may have heard it: their turn must come to an end by itself. */
  function understood(text: string): void {
    if (text !== words) wordsCameMs = now();
    words = text;
    const startMs = Math.max(turnsOverMs, framesEndMs - UNHEARD_WORDS_MS);
    voice ??= { ...newVoice(startMs, framesEndMs), ended: turnTaking.openTurn() === undefined };
    answered();
  }

  function newVoice(startMs: number, endMs: number): CallerVoice {
    return { startMs, endMs, cameMs: now(), ended: false, answered: false, hurried: false };
  }

  /** Another stream has to understand the voice there is. */
  function waitAnew(): void {
    if (voice !== undefined) Object.assign(voice, { cameMs: now(), answered: false, hurried: false });
  }

  function forgetWords(): void {
    words = '';
    if (mayEndText !== undefined) events.onGoesOn();
    mayEndText = undefined;
  }

  function endTurn(text: string): void {
    const at = Math.round(now());
    const endMs = Math.min(voice?.endMs ?? at, at);
    const startMs = Math.min(voice?.startMs ?? endMs - 500, endMs - 1);
    words = '';
    mayEndText = undefined;
    voice = undefined;
    turnsOverMs = framesEndMs;
    stream.forget();
    events.onTurn({ text, startMs: Math.max(0, Math.round(startMs)), endMs: Math.round(endMs) });
  }

  /** An open turn is silent, too, while its end is waited for: only what it grew by is voice. */
  function noteVoice(): void {
    const open = turnTaking.openTurn();
    if (open === undefined || open.endMs < framesEndMs) return;
    const startMs = Math.max(open.startMs, turnsOverMs);
    if (open.endMs <= startMs) return;
    voice ??= newVoice(startMs, open.endMs);
    voice.endMs = open.endMs;
    voice.cameMs = now();
    voice.ended = false;
    events.onVoice(voice.endMs - voice.startMs);
  }

  /** What becomes of the voice there was: every one becomes a turn or a noise in the end. */
  function judgeSilence(): void {
    if (voice === undefined) return;
    if (words !== '' && now() - wordsCameMs >= DECIDES_WITHIN_MS) return endTurn(words);
    if (!voice.ended) return;
    const silentMs = now() - voice.cameMs;
    if (words !== '' && p.recogniser.decidesTurns) return;
    if (words !== '' && silentMs >= GIVE_UP_MS && now() - wordsCameMs >= SETTLED_MS) return endTurn(words);
    if (silentMs >= HURRY_MS && !voice.hurried) {
      voice.hurried = true;
      stream.hurry();
    }
    if (words !== '') return;
    if (voice.answered && silentMs >= GIVE_UP_MS) return beNoise();
    if (silentMs < stalledMs) return;
    if (hasWords(voice)) stream.stalled();
    else beNoise();
  }

  function beNoise(): void {
    voice = undefined;
    stream.forget();
    events.onNoise();
  }

  return {
    /** @param frame 20 ms of 8 kHz mu-law */
    push(frame: Uint8Array, timestampMs: number): void {
      stream.push(frame);
      framesEndMs = timestampMs + FRAME_MS;
      const { ended } = turnTaking.push(frame, timestampMs);
      noteVoice();
      if (ended !== undefined && voice !== undefined) {
        voice.ended = true;
        if (!p.recogniser.decidesTurns && mayEndText !== undefined) endTurn(mayEndText);
      }
      judgeSilence();
    },
    callerSpeaks: () => turnTaking.openTurn() !== undefined,
    /** What was said and not ended yet; for the end of the call. */
    unfinished(): SpokenTurn | undefined {
      if (words === '') return undefined;
      const endMs = Math.round(voice?.endMs ?? now());
      return { text: words, startMs: Math.round(Math.min(voice?.startMs ?? endMs - 500, endMs - 1)), endMs };
    },
    close(): void {
      stream.close();
      turnTaking.free();
    },
  };
}

function hasWords(voice: { startMs: number; endMs: number }): boolean {
  return voice.endMs - voice.startMs >= VOICE_WITH_WORDS_MS;
}
