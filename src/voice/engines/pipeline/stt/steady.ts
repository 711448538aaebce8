import type { ProviderError, SpeechToText, RecogniserEvents, RecogniserStream } from '../ports.js';

/** Audio kept for a new stream: 10 s of 20 ms frames. */
const KEPT_FRAMES = 500;
const REOPEN_AFTER_MS = 200;
/** Maximum per call; a provider that disconnects more often counts as gone. */
const MAX_REOPENINGS = 5;

export interface SteadyRecogniser extends RecogniserStream {
  /** The stream sends nothing although the caller spoke: treat it as lost. */
  stalled(): void;
}

/**
 * An STT stream that reconnects after a loss and sends the audio of the current turn again. If it is lost again before
 * any transcript, it is gone for good.
 */
export function openSteadyRecogniser(p: {
  recogniser: SpeechToText;
  language: string;
  events: Omit<RecogniserEvents, 'onLost'> & {
    /** The stream was lost and will be reopened. */
    onTrouble(error: ProviderError): void;
    /** The stream is open again and receives the current turn's audio once more. */
    onReopened(): void;
    onGone(error: ProviderError): void;
  };
  stallError(): ProviderError;
}): SteadyRecogniser {
  const { events } = p;
  let kept: Uint8Array[] = [];
  let reopenings = 0;
  let understood = true;
  let closed = false;
  let reopening: NodeJS.Timeout | undefined;
  let stream = open();

  function open(): RecogniserStream {
    let current = true;
    /** Ignores events of a stream that was replaced. */
    const ifCurrent =
      <A extends unknown[]>(tell: (...values: A) => void) =>
      (...values: A) => {
        if (current && !closed) tell(...values);
      };
    const opened = p.recogniser.open(p.language, {
      onWords: ifCurrent((text: string) => {
        understood = true;
        events.onWords(text);
      }),
      onMayEnd: ifCurrent((text: string) => events.onMayEnd(text)),
      onGoesOn: ifCurrent(() => events.onGoesOn()),
      onEnd: ifCurrent((text: string) => {
        understood = true;
        events.onEnd(text);
      }),
      onAlive: ifCurrent(() => events.onAlive()),
      onLost: ifCurrent((error: ProviderError) => {
        current = false;
        lost(error);
      }),
    });
    return {
      ...opened,
      close() {
        current = false;
        opened.close();
      },
    };
  }

  function lost(error: ProviderError): void {
    if (!understood || reopenings >= MAX_REOPENINGS) {
      close();
      return events.onGone(error);
    }
    understood = false;
    reopenings += 1;
    events.onTrouble(error);
    reopening = setTimeout(reopen, error.retryAfterMs ?? REOPEN_AFTER_MS);
    return undefined;
  }

  function reopen(): void {
    reopening = undefined;
    stream = open();
    for (const frame of kept) stream.push(frame);
    events.onReopened();
  }

  function close(): void {
    closed = true;
    clearTimeout(reopening);
    stream.close();
  }

  return {
    push(frame) {
      if (closed) return;
      kept.push(frame);
      if (kept.length > KEPT_FRAMES) kept.shift();
      if (reopening === undefined) stream.push(frame);
    },
    hurry() {
      if (reopening === undefined && !closed) stream.hurry();
    },
    forget() {
      kept = [];
      if (reopening === undefined && !closed) stream.forget();
    },
    stalled() {
      if (reopening !== undefined || closed) return;
      stream.close();
      lost(p.stallError());
    },
    close,
  };
}
