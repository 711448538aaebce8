import type { ProviderError, SpeechToText, SttEvents, SttOptions, SttStream } from '../ports.js';

/** Audio kept for a new stream: 10 s of 20 ms frames. */
const KEPT_FRAMES = 500;
const REOPEN_AFTER_MS = 200;
/** Maximum number of reconnections per call. A provider that disconnects more often counts as gone. */
const MAX_REOPENINGS = 5;

export interface ReconnectingStt extends SttStream {
  /** Treats the stream as lost, because it sends nothing although the caller spoke. */
  stalled(): void;
}

/**
 * An STT stream that reconnects after a loss and sends the audio of the current turn again. If the new stream is lost
 * before it returned a transcript, the provider counts as gone.
 */
export function openReconnectingStt(p: {
  stt: SpeechToText;
  options: SttOptions;
  events: Omit<SttEvents, 'onLost'> & {
    /** Called when the stream was lost and will be reopened. */
    onReconnecting(error: ProviderError): void;
    /** Called when the stream is open again and the current turn's audio was sent once more. */
    onReopened(): void;
    onGone(error: ProviderError): void;
  };
  stallError(): ProviderError;
}): ReconnectingStt {
  const { events } = p;
  let kept: Uint8Array[] = [];
  let reopenings = 0;
  let understood = true;
  let closed = false;
  let reopening: NodeJS.Timeout | undefined;
  let stream = open();

  function open(): SttStream {
    let current = true;
    /** Ignores events of a stream that was replaced. */
    const ifCurrent =
      <A extends unknown[]>(tell: (...values: A) => void) =>
      (...values: A) => {
        if (current && !closed) tell(...values);
      };
    const opened = p.stt.open(p.options, {
      onInterim: ifCurrent((text: string) => {
        understood = true;
        events.onInterim(text);
      }),
      onProbableEnd: ifCurrent((text: string) => events.onProbableEnd(text)),
      onTurnContinued: ifCurrent(() => events.onTurnContinued()),
      onEnd: ifCurrent((text: string) => {
        understood = true;
        events.onEnd(text);
      }),
      onActivity: ifCurrent(() => events.onActivity()),
      onBilled: (seconds) => events.onBilled?.(seconds),
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
    events.onReconnecting(error);
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
    finalize() {
      if (reopening === undefined && !closed) stream.finalize();
    },
    discardTurn() {
      kept = [];
      if (reopening === undefined && !closed) stream.discardTurn();
    },
    stalled() {
      if (reopening !== undefined || closed) return;
      stream.close();
      lost(p.stallError());
    },
    close,
  };
}
