import { FRAME_MS } from '../../audio/frame.js';
import { meaningOfTyped, type Grammar, type Meaning } from '../../audio/grammar.js';
import type { GrammarStt } from '../../audio/grammar-stt.js';
import type { SessionEventBody } from '../../session/reducer/events.js';
import { createVoiceTransitions } from '../../session/voice-transitions.js';
import type { TurnTaking } from '../../session/turn-taking.js';
import { waitAtMost } from '../../session/wait-at-most.js';
import { createTurnSplitter, type EndedTurn } from './turn-splitter.js';
import { createTurnRecognizer } from './turn-recognizer.js';
import { createMachineDetector } from './machine-detector.js';
import type { TurnRecognition } from './script.js';

/** Silence that ends a turn; longer for digits, because people say them in groups. */
const PAUSE_MS = 600;
const PAUSE_IN_DIGITS_MS = 900;
/** Timeout for recognizing the caller's last utterance after the call has ended. */
const FINAL_TURN_TIMEOUT_MS = 2_000;
/** Transcript text for speech that was not understood. */
const NOT_UNDERSTOOD_TEXT = '(speech)';

/** A turn of the caller with its timing: start and end in stream time, the other times on the local clock (`now`). */
export interface RecognizedTurn {
  heard: TurnRecognition;
  startMs: number;
  endMs: number;
  lastVoiceAtMs: number;
  endedAtMs: number;
}

export type CallerListener = ReturnType<typeof createCallerListener>;

/** Processes the caller's audio: derives VAD transitions, answering machine signs and recognized turns from frames. */
export function createCallerListener(p: {
  turnTaking: TurnTaking;
  stt: GrammarStt;
  /** Whether to detect answering machines. */
  detectsMachines: boolean;
  now: () => number;
  /** The grammar for the current question; undefined: do not recognize words. */
  grammar(): Grammar | undefined;
  /** The grammar for typed words, which are known exactly, so that they may interrupt the introduction. */
  typedGrammar(): Grammar | undefined;
  /** Whether the session has begun to end. From then on, the caller's speech changes nothing. */
  isClosing(): boolean;
  dispatch: (what: SessionEventBody) => void;
  /** Called right before the turn's `turn_ended` event is dispatched. */
  onTurn(turn: RecognizedTurn): void;
  /** Reports errors that do not end the call. */
  report: (error: Error) => void;
}) {
  const { turnTaking, now, dispatch } = p;
  const turnSplitter = createTurnSplitter({ turnTaking, now });
  const turnRecognizer = createTurnRecognizer({ stt: p.stt, report: p.report });
  const machineDetector = p.detectsMachines ? createMachineDetector() : undefined;
  const onFrame = createVoiceTransitions({ turnTaking, now, dispatch });
  let streamMs = 0;
  let turns = 0;
  let isOver = false;
  /** Recognizes turns one at a time. */
  let recognition: Promise<void> = Promise.resolve();

  function recognize(turn: EndedTurn): void {
    turns += 1;
    const endedAtMs = now();
    recognition = recognition.then(async () => {
      const heard = await turnRecognizer.recognize(turn, p.grammar());
      if (isOver) return;
      const { startMs, endMs, lastVoiceAtMs } = turn;
      p.onTurn({ heard, startMs, endMs, lastVoiceAtMs, endedAtMs });
      dispatch({ type: 'turn_ended', text: textOf(heard), streamMs, voice: { startMs, endMs }, ...turnKind(heard) });
    });
  }

  function detectMachine(frame: Uint8Array, timestampMs: number, ended: EndedTurn | undefined): void {
    const sign = machineDetector?.push(frame, timestampMs, ended);
    if (sign === 'beep') dispatch({ type: 'tone_heard', streamMs });
    if (sign !== undefined) dispatch({ type: 'machine_heard' });
  }

  return {
    /** @param frame 20 ms of 8 kHz mu-law */
    push(frame: Uint8Array, timestampMs: number): void {
      const { ended, probablyEnded } = turnSplitter.push(frame, timestampMs);
      streamMs = timestampMs + FRAME_MS;
      if (probablyEnded !== undefined && !p.isClosing()) turnRecognizer.recognizeEarly(probablyEnded, p.grammar());
      onFrame(streamMs, ended !== undefined);
      detectMachine(frame, timestampMs, ended);
      if (ended !== undefined) recognize(ended);
    },
    /** Takes a typed turn, after the spoken ones before it. */
    type(text: string): void {
      turns += 1;
      recognition = recognition.then(() => {
        if (isOver) return;
        const grammar = p.typedGrammar();
        const meaning = grammar && meaningOfTyped(grammar, text);
        const at = now();
        p.onTurn({
          heard: typedTurn(grammar, text, meaning),
          startMs: at,
          endMs: at,
          lastVoiceAtMs: at,
          endedAtMs: at,
        });
        dispatch({ type: 'turn_typed', text });
      });
    },
    expectDigits: (areDigits: boolean) => turnTaking.endTurnAfter(areDigits ? PAUSE_IN_DIGITS_MS : PAUSE_MS),
    /** Number of turns detected so far. */
    turns: () => turns,
    /** Recognizes a turn that is still open when the call ends, and waits at most 2 s for its result. */
    async finish(): Promise<void> {
      const openTurn = turnSplitter.openTurn();
      if (openTurn !== undefined) recognize(openTurn);
      await waitAtMost(FINAL_TURN_TIMEOUT_MS, recognition);
      isOver = true;
      turnSplitter.free();
    },
  };
}

const textOf = (heard: TurnRecognition) => (heard.outcome === 'understood' ? heard.text : NOT_UNDERSTOOD_TEXT);

function typedTurn(grammar: Grammar | undefined, text: string, meaning: Meaning | undefined): TurnRecognition {
  if (grammar === undefined) return { outcome: 'not listened' };
  return meaning === undefined ? { outcome: 'not understood' } : { outcome: 'understood', text, meaning };
}

/** Marks a turn that is not a plain answer. */
function turnKind(heard: TurnRecognition): { holds?: 'no_words' | 'greeting' } {
  if (heard.outcome !== 'understood') return { holds: 'no_words' };
  return isHello(heard.meaning) ? { holds: 'greeting' } : {};
}

/** "Hello" may also come from an answering machine. */
function isHello(meaning: Meaning): boolean {
  return meaning.kind === 'command' && meaning.command === 'hello';
}
