import type { TurnTaking } from '../../turn-taking.js';
import { ProviderError, type Recogniser } from './ports.js';
import { openSteadyRecogniser } from './recogniser/steady.js';

/** Words that come without a pause being told are asked for so long after the caller's last voice. */
const HURRY_MS = 1_200;
/** What is known so long after the last voice is the turn. */
const GIVE_UP_MS = 2_000;
/** A recogniser that decides by meaning has decided by then: it forces an end after 5 s itself. */
const DECIDES_WITHIN_MS = 7_000;
/** A recogniser that answers nothing at all to a caller who spoke. */
const STALLED_MS = 3_500;
const FRAME_MS = 20;
/** Shorter voice need not hold words. */
const VOICE_WITH_WORDS_MS = 400;

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
  recogniser: Recogniser;
  language: string;
  now: () => number;
  events: CallerTurnEvents;
  stalledMs?: number;
}) {
  const { turnTaking, now, events } = p;
  const stalledMs = p.stalledMs ?? STALLED_MS;
  let words = '';
  let mayEndText: string | undefined;
  /** Voice that belongs to no turn yet. */
  let voice: { startMs: number; endMs: number; ended: boolean; answered: boolean; hurried: boolean } | undefined;
  /** Voice before this belongs to a turn that is over. */
  let turnsOverMs = 0;

  const stream = openSteadyRecogniser({
    recogniser: p.recogniser,
    language: p.language,
    stallError: () => new ProviderError('recogniser', `sent nothing for ${stalledMs} ms`),
    events: {
      onWords(text) {
        answered();
        words = text;
        events.onWords(text);
      },
      onMayEnd(text) {
        answered();
        words = text;
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
        if (voice !== undefined) voice.hurried = false;
        events.onTrouble(voice !== undefined && voice.ended && hasWords(voice));
      },
      onGone: (error) => events.onGone(error),
    },
  });

  function answered(): void {
    if (voice !== undefined) voice.answered = true;
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
    turnsOverMs = at;
    stream.forget();
    events.onTurn({ text, startMs: Math.max(0, Math.round(startMs)), endMs: Math.round(endMs) });
  }

  /** An open turn is silent, too, while its end is waited for: only what it grew by is voice. */
  function noteVoice(frameEndMs: number): void {
    const open = turnTaking.openTurn();
    if (open === undefined || open.endMs < frameEndMs) return;
    const startMs = Math.max(open.startMs, turnsOverMs);
    if (open.endMs <= startMs) return;
    voice ??= { startMs, endMs: open.endMs, ended: false, answered: false, hurried: false };
    voice.endMs = open.endMs;
    voice.ended = false;
    events.onVoice(voice.endMs - voice.startMs);
  }

  /** The caller is silent: what becomes of the voice there was. */
  function judgeSilence(): void {
    if (voice === undefined || !voice.ended) return;
    const silentMs = now() - voice.endMs;
    if (words !== '' && silentMs >= (p.recogniser.decidesTurns ? DECIDES_WITHIN_MS : GIVE_UP_MS)) return endTurn(words);
    if (words !== '' && p.recogniser.decidesTurns) return;
    if (silentMs >= HURRY_MS && !voice.hurried) {
      voice.hurried = true;
      stream.hurry();
    }
    if (words !== '') return;
    if (voice.answered && silentMs >= GIVE_UP_MS) return beNoise();
    if (silentMs < stalledMs) return;
    if (hasWords(voice)) {
      // Once: the stream that takes over hears the voice again.
      voice.answered = true;
      voice.endMs = now();
      stream.stalled();
    } else beNoise();
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
      const { ended } = turnTaking.push(frame, timestampMs);
      noteVoice(timestampMs + FRAME_MS);
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
