import { FRAME_MS } from '../../../audio/frame.js';
import { ProviderError } from '../ports.js';

/**
 * A piece of a turn is cut at the first pause after this time, or in the middle of a word at the maximum. Whisper
 * models process windows of 30 s.
 */
const CUT_AFTER_FRAMES = 20_000 / FRAME_MS;
const MAX_FRAMES = 30_000 / FRAME_MS;

interface Request {
  text?: string;
  cancel(): void;
}

export type TurnRecording = ReturnType<typeof recordTurn>;

interface TurnRecordingDeps {
  /** @throws ProviderError; any error if the signal is aborted */
  transcribe(frames: readonly Uint8Array[], signal: AbortSignal): Promise<string>;
  /** Called when another transcript has arrived, or the words so far may be all. */
  onText(): void;
  /** Called when the provider bills audio, even for a request that was canceled. */
  onBilled(seconds: number): void;
  onFailed(error: ProviderError): void;
}

/** Collects the audio of one turn, and has it transcribed in pieces. */
export function recordTurn(p: TurnRecordingDeps) {
  let frames: Uint8Array[] = [];
  /** Whether the current piece has voice. Whisper models invent words for silence. */
  let hasVoice = false;
  /** Whether the caller pauses, and the words so far are known or were requested. */
  let isPaused = false;
  /** Requests for the finished pieces, in order. */
  const pieces: Request[] = [];
  /** The request for the current piece, while the caller pauses. */
  let latest: Request | undefined;
  /** Audio of the current piece in requests that the caller made useless by continuing. */
  let wastedFrames = 0;

  const ask = (): Request => startRequest(p, [...frames]);

  function finishPiece(): void {
    if (hasVoice) pieces.push(latest ?? ask());
    latest = undefined;
    frames = [];
    hasVoice = false;
    wastedFrames = 0;
  }

  return {
    /** The words that were reported so far. */
    reported: '',
    /** Whether the end of the turn was reported as probable. */
    mayEnd: false,

    add(frame: Uint8Array, isPause: boolean): void {
      frames.push(frame);
      hasVoice ||= !isPause;
      if (frames.length >= MAX_FRAMES || (isPause && frames.length >= CUT_AFTER_FRAMES)) finishPiece();
    },

    /**
     * Asks for the words so far, because the turn may have ended. It does not ask while earlier requests that became
     * useless have more audio than the piece, so that they have at most twice its audio, however often the caller pauses.
     */
    paused(): void {
      if (isPaused) return;
      if (!hasVoice) {
        isPaused = true;
        p.onText();
      } else if (wastedFrames <= frames.length) {
        isPaused = true;
        latest = ask();
      }
    },

    /** Cancels the request for the words so far, because the caller continues. */
    continued(): void {
      isPaused = false;
      if (latest === undefined) return;
      latest.cancel();
      latest = undefined;
      wastedFrames += frames.length;
    },

    ended: finishPiece,
    isPaused: () => isPaused,

    /** Returns the words so far; undefined while a transcript is missing. */
    text(): string | undefined {
      const texts = [...pieces, ...(latest === undefined ? [] : [latest])].map(({ text }) => text);
      return texts.includes(undefined) ? undefined : texts.filter(Boolean).join(' ');
    },

    cancel(): void {
      for (const request of [...pieces, ...(latest === undefined ? [] : [latest])]) request.cancel();
    },
  };
}

/** Requests the transcript of a piece. */
function startRequest(p: TurnRecordingDeps, piece: readonly Uint8Array[]): Request {
  const controller = new AbortController();
  const seconds = (piece.length * FRAME_MS) / 1_000;
  // Dropped when the request is settled, because a turn may last as long as its call.
  let asked = piece;
  let isRunning = false;

  const request: Request = {
    cancel() {
      controller.abort();
      // The provider bills a request that it has begun.
      if (isRunning) settle(true);
    },
  };

  function settle(isBilled: boolean): void {
    isRunning = false;
    asked = [];
    if (isBilled) p.onBilled(seconds);
  }

  async function send(): Promise<void> {
    // A reopened stream receives all audio at once. Do not send what the next frames make useless.
    await Promise.resolve();
    if (controller.signal.aborted) return;
    isRunning = true;
    try {
      const text = await p.transcribe(asked, controller.signal);
      if (!isRunning) return;
      request.text = text.trim();
    } catch (error) {
      if (!isRunning) return;
      const fault = error instanceof ProviderError ? error : new ProviderError('recogniser', 'failed');
      settle(!fault.isUnbilled);
      return p.onFailed(fault);
    }
    settle(true);
    p.onText();
  }

  void send();
  return request;
}
