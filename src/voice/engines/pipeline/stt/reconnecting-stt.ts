import { settingsFor } from '../../chain/pipeline-chains.js';
import type { Provider, ProviderChain } from '../../chain/provider-chain.js';
import type { ProviderError, SpeechToText, SttEvents, SttOptions, SttStream } from '../ports.js';

/** Audio kept for a new stream: 10 s of 20 ms frames. */
const KEPT_FRAMES = 500;
/** Maximum number of reconnections within `WINDOW_MS`. A provider that disconnects more often counts as gone. */
const MAX_REOPENINGS = 5;
const WINDOW_MS = 60_000;

export interface ReconnectingStt extends SttStream {
  /** Treats the stream as lost, because it sends nothing although the caller spoke. */
  stalled(): void;
}

/**
 * An STT stream that is opened again after a loss, with the next provider of the chain, and gets the audio of the
 * current turn again. If no attempt is left before a stream returned a transcript, STT counts as gone.
 */
export function openReconnectingStt(p: {
  chain: ProviderChain<SpeechToText>;
  options: SttOptions;
  events: Omit<SttEvents, 'onLost' | 'onBilled'> & {
    onBilled(seconds: number, provider: Provider<SpeechToText>): void;
    /** Called when audio of the call was sent to a provider for the first time. */
    onSent(frames: number, provider: Provider<SpeechToText>): void;
    /** Called before the first stream with another provider is opened. */
    onProviderChanged(stt: SpeechToText): void;
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
  const reopenings = createRecentCount();
  const attempts = p.chain.begin();
  let provider = attempts.provider();
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
    const own = provider;
    const settings = settingsFor(own, p.options.settings);
    const opened = own.port.open(
      { ...p.options, settings },
      {
        onInterim: ifCurrent((text: string) => {
          attempts.succeeded();
          events.onInterim(text);
        }),
        onProbableEnd: ifCurrent((text: string) => events.onProbableEnd(text)),
        onTurnContinued: ifCurrent(() => events.onTurnContinued()),
        onEnd: ifCurrent((text: string) => {
          attempts.succeeded();
          events.onEnd(text);
        }),
        onActivity: ifCurrent(() => events.onActivity()),
        onBilled: (seconds) => events.onBilled(seconds, own),
        onLost: ifCurrent((error: ProviderError) => {
          current = false;
          lost(error);
        }),
      },
    );
    return {
      ...opened,
      close() {
        current = false;
        opened.close();
      },
    };
  }

  function lost(error: ProviderError): void {
    const waitMs = reopenings.count() >= MAX_REOPENINGS ? undefined : attempts.failed(error);
    if (waitMs === undefined) {
      close();
      return events.onGone(error);
    }
    reopenings.add();
    events.onReconnecting(error);
    reopening = setTimeout(reopen, waitMs);
    return undefined;
  }

  function reopen(): void {
    reopening = undefined;
    const before = provider;
    provider = attempts.provider();
    if (provider !== before) {
      events.onProviderChanged(provider.port);
      events.onSent(kept.length, provider);
    }
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
      events.onSent(1, provider);
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

/** Counts the reconnections within `WINDOW_MS`. */
function createRecentCount() {
  let times: number[] = [];
  return {
    add: () => void times.push(performance.now()),
    count(): number {
      times = times.filter((atMs) => performance.now() - atMs < WINDOW_MS);
      return times.length;
    },
  };
}
