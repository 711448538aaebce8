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

/** Silence that ends a turn; longer for digits, because people say them in groups. */
const PAUSE_MS = 600;
const PAUSE_IN_DIGITS_MS = 900;
/** Timeout for recognizing the caller's last words after the call has ended. */
const LAST_WORDS_MS = 2_000;
/** Transcript text for speech that was not understood. */
const UNKNOWN_WORDS = '(speech)';

/** A turn of the caller with its timing: start and end in stream time, the other times on the local clock (`now`). */
export interface HeardTurn {
  heard: Heard;
  startMs: number;
  endMs: number;
  lastVoiceAtMs: number;
  endedAtMs: number;
}

export type CallerEar = ReturnType<typeof createCallerEar>;

/** Processes the caller's audio: derives VAD transitions, answering machine signs and recognized turns from frames. */
export function createCallerEar(p: {
  turnTaking: TurnTaking;
  recogniser: Recogniser;
  /** Whether to detect answering machines. */
  listensForMachines: boolean;
  now: () => number;
  /** The grammar for the current question; undefined: do not recognize words. */
  grammar(): Grammar | undefined;
  /** Whether the closing has begun, after which speech no longer changes anything. */
  isClosing(): boolean;
  happened: (what: SessionHappening) => void;
  /** Called right before the turn's event. */
  onTurn(turn: HeardTurn): void;
  /** Reports errors that do not end the call. */
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
  /** Recognizes turns one at a time. */
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
    /** Number of turns detected so far. */
    turns: () => turns,
    /** Ends recognition after the call: recognizes an open turn, and waits at most 2 s. */
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

/** Marks a turn that is not a plain answer. */
function holding(heard: Heard): { holds?: 'no_words' | 'greeting' } {
  if (heard.outcome !== 'understood') return { holds: 'no_words' };
  return isHello(heard.meaning) ? { holds: 'greeting' } : {};
}

/** "Hello" may also come from an answering machine. */
function isHello(meaning: Meaning): boolean {
  return meaning.kind === 'command' && meaning.command === 'hello';
}
