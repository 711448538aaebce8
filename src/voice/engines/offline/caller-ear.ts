import { FRAME_MS } from '../../audio/frame.js';
import type { Grammar, Meaning } from '../../audio/grammar.js';
import type { Recogniser } from '../../audio/recogniser.js';
import type { SessionHappening } from '../../session/reducer/events.js';
import { createVoiceTransitions } from '../../session/voice-transitions.js';
import type { TurnTaking } from '../../session/turn-taking.js';
import { settledWithin } from '../../session/within.js';
import { createEar, type EndedTurn } from './ear.js';
import { createHearing } from './hearing.js';
import { createMachineEar } from './machine-ear.js';
import type { Heard } from './script.js';

/** Silence that ends a turn: digits are said in groups. */
const PAUSE_MS = 600;
const PAUSE_IN_DIGITS_MS = 900;
/** What may still be understood of the last words when the call is over. */
const LAST_WORDS_MS = 2_000;
/** Stands in the transcript for words that were not understood. */
const UNKNOWN_WORDS = '(speech)';

/** A turn of the caller, and when its parts were known, by our own clock. */
export interface HeardTurn {
  heard: Heard;
  startMs: number;
  endMs: number;
  lastVoiceAtMs: number;
  endedAtMs: number;
}

export type CallerEar = ReturnType<typeof createCallerEar>;

/** The caller's side of the line: frames become transitions of the voice, tones and greetings of machines, and words. */
export function createCallerEar(p: {
  turnTaking: TurnTaking;
  recogniser: Recogniser;
  /** Whether an answering machine may take the call. */
  listensForMachines: boolean;
  now: () => number;
  /** What is understood at this point; undefined: no words. */
  grammar(): Grammar | undefined;
  /** Nothing that is said changes anything any more. */
  isClosing(): boolean;
  happened: (what: SessionHappening) => void;
  /** Told right before the turn's event. */
  onTurn(turn: HeardTurn): void;
  /** Told of faults that the call outlives. */
  report: (error: Error) => void;
}) {
  const { turnTaking, now, happened } = p;
  const ear = createEar({ turnTaking, now });
  const hearing = createHearing({ recogniser: p.recogniser, report: p.report });
  const machineEar = p.listensForMachines ? createMachineEar() : undefined;
  const frameTaken = createVoiceTransitions({ turnTaking, now, happened });
  let streamMs = 0;
  let turns = 0;
  let isOver = false;
  /** Turns are understood one after the other. */
  let listening: Promise<void> = Promise.resolve();

  function understand(turn: EndedTurn): void {
    turns += 1;
    const endedAtMs = now();
    listening = listening.then(async () => {
      const heard = await hearing.understand(turn, p.grammar());
      if (isOver) return;
      const { startMs, endMs, lastVoiceAtMs } = turn;
      p.onTurn({ heard, startMs, endMs, lastVoiceAtMs, endedAtMs });
      happened({ type: 'turn_ended', text: textOf(heard), streamMs, voice: { startMs, endMs }, ...holding(heard) });
    });
  }

  function listenForMachine(frame: Uint8Array, timestampMs: number, ended: EndedTurn | undefined): void {
    const sign = machineEar?.push(frame, timestampMs, ended);
    if (sign === 'beep') happened({ type: 'tone_heard', streamMs });
    if (sign !== undefined) happened({ type: 'machine_heard' });
  }

  return {
    /** @param frame 20 ms of 8 kHz mu-law */
    push(frame: Uint8Array, timestampMs: number): void {
      const { ended, pausing } = ear.push(frame, timestampMs);
      streamMs = timestampMs + FRAME_MS;
      if (pausing !== undefined && !p.isClosing()) hearing.understandAhead(pausing, p.grammar());
      frameTaken(streamMs, ended !== undefined);
      listenForMachine(frame, timestampMs, ended);
      if (ended !== undefined) understand(ended);
    },
    expectDigits: (areDigits: boolean) => turnTaking.endTurnAfter(areDigits ? PAUSE_IN_DIGITS_MS : PAUSE_MS),
    /** How many turns were heard. */
    turns: () => turns,
    /** The call is over: what was being said is understood, if that is soon done. */
    async finish(): Promise<void> {
      const openTurn = ear.openTurn();
      if (openTurn !== undefined) understand(openTurn);
      await settledWithin(LAST_WORDS_MS, listening);
      isOver = true;
      ear.free();
    },
  };
}

const textOf = (heard: Heard) => (heard.outcome === 'understood' ? heard.text : UNKNOWN_WORDS);

/** What is not a plain answer. */
function holding(heard: Heard): { holds?: 'no_words' | 'greeting' } {
  if (heard.outcome !== 'understood') return { holds: 'no_words' };
  return isHello(heard.meaning) ? { holds: 'greeting' } : {};
}

/** Machines say it, too. */
function isHello(meaning: Meaning): boolean {
  return meaning.kind === 'command' && meaning.command === 'hello';
}
