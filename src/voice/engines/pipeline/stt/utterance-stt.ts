import { FRAME_MS } from '../../../audio/frame.js';
import type { VoiceActivityDetector } from '../../../audio/voice-activity.js';
import { createTurnTaking, type TurnTaking } from '../../../session/turn-taking.js';
import { setAmong } from '../../ignored-settings.js';
import type { ProviderError, SpeechToText, SttEvents, SttOptions, SttStream } from '../ports.js';
import { recordTurn, type TurnRecording } from './turn-recording.js';

/** Transcribes one recording of 8 kHz mu-law. Throws a ProviderError; any error if the signal is aborted. */
export type Transcribe = (mulaw: Uint8Array, options: SttOptions, signal: AbortSignal) => Promise<string>;

/** Audio kept from before the caller's voice is detected, so that the first sound is not lost: 400 ms. */
const FRAMES_BEFORE = 20;
/** Pause after which the words so far are requested. Turn taking ends the turn later, so the answer is ready earlier. */
const MAY_END_AFTER_MS = 300;
/**
 * How long a turn may go without new words. People pause often enough for a piece of 20 s and its transcription; a turn
 * with a longer piece is noise, and ends before the words of the next piece.
 */
const WORDS_WITHIN_MS = 27_000;

interface UtteranceSttDeps {
  transcribe: Transcribe;
  newDetector: () => VoiceActivityDetector;
}

/**
 * STT with a provider that transcribes recordings. Voice activity detection finds the turns; each turn is transcribed
 * when it ends, or in pieces if it is long. There are no interim transcripts.
 */
export function createUtteranceStt(deps: UtteranceSttDeps): SpeechToText {
  return {
    detectsEndOfTurn: true,
    wordsWithinMs: WORDS_WITHIN_MS,
    billsRequests: true,
    open: (options, events) => openStream(deps, options, events),
  };
}

/** Turn taking that ends turns as the agent's settings say. */
function takeTurns(detector: VoiceActivityDetector, { settings, onIgnored }: SttOptions): TurnTaking {
  onIgnored?.(setAmong(settings, ['endOfTurnEagerness', 'endOfTurnConfidence']));
  const turnTaking = createTurnTaking(detector);
  if (settings.endOfTurnSilenceMs !== undefined) turnTaking.endTurnAfter(settings.endOfTurnSilenceMs);
  if (settings.vadThreshold !== undefined) turnTaking.requireCertainty(settings.vadThreshold);
  return turnTaking;
}

function openStream({ transcribe, newDetector }: UtteranceSttDeps, options: SttOptions, events: SttEvents): SttStream {
  const turnTaking = takeTurns(newDetector(), options);
  let atMs = 0;
  let before: Uint8Array[] = [];
  /** The turn that the caller has not ended. */
  let turn: TurnRecording | undefined;
  /** Ended turns whose transcripts are missing, in order. */
  let waiting: TurnRecording[] = [];
  let isReporting = false;
  let closed = false;

  function startTurn(frames: readonly Uint8Array[]): TurnRecording {
    const started = recordTurn({
      transcribe: (recorded, signal) => transcribe(Buffer.concat(recorded), options, signal),
      onText: report,
      onBilled: (seconds) => events.onBilled?.(seconds),
      onFailed: lose,
    });
    for (const frame of frames) started.add(frame, false);
    return started;
  }

  function endTurn(): void {
    if (turn === undefined) return;
    turn.ended();
    waiting.push(turn);
    turn = undefined;
    report();
  }

  /** Reports the transcripts that have arrived, in the order of the turns. */
  function report(): void {
    for (let [first] = waiting; first !== undefined; [first] = waiting) {
      const text = first.text();
      if (closed || text === undefined) return;
      waiting.shift();
      reportEnd(text === '' ? first.reported : text);
    }
    if (!closed && turn !== undefined) reportPart(turn);
  }

  /** Reports a turn. One without words only if no other turn follows: the session would relate the report to it. */
  function reportEnd(text: string): void {
    if (text === '') return turn === undefined && waiting.length === 0 ? events.onActivity() : undefined;
    isReporting = true;
    events.onEnd(text);
    isReporting = false;
  }

  function reportPart(open: TurnRecording): void {
    const text = open.text();
    if (text === undefined || text === '') return;
    if (open.isPaused()) {
      if (open.mayEnd) return;
      open.mayEnd = true;
      events.onProbableEnd(text);
    } else if (text !== open.reported) events.onInterim(text);
    open.reported = text;
  }

  function continueTurn(open: TurnRecording): void {
    open.continued();
    if (!open.mayEnd) return;
    open.mayEnd = false;
    events.onTurnContinued();
  }

  function lose(error: ProviderError): void {
    if (closed) return;
    close();
    events.onLost(error);
  }

  function cancelTurns(): void {
    for (const each of [...waiting, ...(turn === undefined ? [] : [turn])]) each.cancel();
    waiting = [];
    turn = undefined;
  }

  function close(): void {
    if (closed) return;
    closed = true;
    cancelTurns();
    turnTaking.free();
  }

  return {
    push(frame) {
      if (closed) return;
      const isNew = turnTaking.openTurn() === undefined;
      const { ended } = turnTaking.push(frame, atMs);
      atMs += FRAME_MS;
      before = [...before, frame].slice(-FRAMES_BEFORE);
      const voice = turnTaking.openTurn();
      const pauseMs = voice === undefined ? Infinity : atMs - voice.endMs;
      if (turn !== undefined) turn.add(frame, pauseMs > 0);
      else if (pauseMs <= 0) turn = startTurn(isNew ? before : [frame]);
      if (turn === undefined) return;
      if (ended !== undefined) endTurn();
      else if (pauseMs <= 0) continueTurn(turn);
      else if (pauseMs >= MAY_END_AFTER_MS) turn.paused();
    },

    finalize() {
      // The session does not expect events while it calls this function.
      queueMicrotask(() => {
        if (closed) return;
        if (turn !== undefined) endTurn();
        else reportEnd('');
      });
    },

    discardTurn() {
      // The session discards a turn when it learns of its end. That turn is over; keep the audio of the next one.
      if (!isReporting) cancelTurns();
    },

    close,
  };
}
