import { fetch, type Dispatcher } from 'undici';
import { encodeMulaw } from '../../../audio/mulaw.js';
import { createDownsampler } from '../../../audio/resample.js';
import { withoutTrailing } from '../../../../kernel/text.js';
import { ProviderError, type SpeechEvents, type TextToSpeech } from '../ports.js';
import { VOICE_SILENT_MS } from './elevenlabs.js';

export interface SpeechAccount {
  /** Includes the version, as in `https://api.openai.com/v1`. */
  baseUrl: string;
  apiKey: string;
  model: string;
  voiceIdOf(voice: string): string;
}

const MAX_RETRY_AFTER_MS = 2_000;
/** The provider's `pcm` is 24 kHz, 16 bits, one channel. */
const DOWN_BY = 3;
const BYTES_PER_SECOND = 48_000;

/** Maximum plausible audio: 0.5 s per character plus 10 s; the slowest voices take 0.2 s per character. */
function mostBytesOf(text: string): number {
  return BYTES_PER_SECOND * (10 + text.length / 2);
}

interface Sentence {
  text: string;
  pcm: AsyncIterable<Uint8Array>;
}

/** An OpenAI-compatible `/audio/speech` endpoint: one request per sentence; later ones are requested in advance. */
export function createOpenAiSpeech(
  account: SpeechAccount,
  deps: { dispatcher: Dispatcher; silentMs?: number },
): TextToSpeech {
  const silentMs = deps.silentMs ?? VOICE_SILENT_MS;

  async function* requestPcm(text: string, voice: string, controller: AbortController): AsyncGenerator<Uint8Array> {
    const give = () => controller.abort(new ProviderError('voice', `sent nothing for ${silentMs} ms`));
    let timer = setTimeout(give, silentMs);
    try {
      const response = await fetch(`${withoutTrailing(account.baseUrl, '/')}/audio/speech`, {
        method: 'POST',
        headers: { authorization: `Bearer ${account.apiKey}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          model: account.model,
          voice: account.voiceIdOf(voice),
          input: text,
          response_format: 'pcm',
        }),
        signal: controller.signal,
        redirect: 'error',
        dispatcher: deps.dispatcher,
      });
      if (!response.ok || response.body === null) {
        await response.body?.cancel();
        const seconds = Number(response.headers.get('retry-after') ?? NaN);
        const retryAfterMs = Number.isFinite(seconds) ? Math.min(seconds * 1_000, MAX_RETRY_AFTER_MS) : undefined;
        throw new ProviderError('voice', `answered ${response.status}`, retryAfterMs);
      }
      const type = response.headers.get('content-type') ?? '';
      if (/json|text|html/.test(type)) throw new ProviderError('voice', 'answered with text, not with audio');
      let bytes = 0;
      for await (const part of response.body as AsyncIterable<Uint8Array>) {
        clearTimeout(timer);
        timer = setTimeout(give, silentMs);
        bytes += part.length;
        if (bytes > mostBytesOf(text)) throw new ProviderError('voice', 'does not come to an end');
        yield part;
      }
      if (bytes === 0) throw new ProviderError('voice', 'answered without audio');
    } catch (error) {
      throw providerError(error, controller.signal);
    } finally {
      clearTimeout(timer);
    }
  }

  return {
    open(voice, _language, events) {
      const controller = new AbortController();
      const sentences: Sentence[] = [];
      let speaking = false;
      let finished = false;
      let over = false;

      async function speakAll(): Promise<void> {
        if (speaking) return;
        speaking = true;
        try {
          for (let next = sentences.shift(); next !== undefined && !over; next = sentences.shift()) {
            await speak(next, events, () => over);
          }
        } catch (error) {
          return lose(error);
        } finally {
          speaking = false;
        }
        if (finished && sentences.length === 0 && !over) {
          over = true;
          events.onDone();
        }
      }

      function lose(error: unknown): void {
        if (over) return;
        cancel();
        events.onLost(error instanceof ProviderError ? error : new ProviderError('voice', 'failed'));
      }

      function cancel(): void {
        over = true;
        sentences.length = 0;
        controller.abort();
      }

      return {
        say(text) {
          if (over) return;
          sentences.push({ text, pcm: readAhead(requestPcm(text, voice, controller)) });
          void speakAll();
        },
        finish() {
          finished = true;
          void speakAll();
        },
        cancel,
      };
    },
  };
}

async function speak({ text, pcm }: Sentence, events: SpeechEvents, isOver: () => boolean): Promise<void> {
  const downsample = createDownsampler(DOWN_BY);
  let odd: Uint8Array = new Uint8Array(0);
  for await (const part of pcm) {
    if (isOver()) return;
    const bytes = Buffer.concat([odd, part]);
    const whole = bytes.length - (bytes.length % 2);
    odd = bytes.subarray(whole);
    const samples = new Int16Array(whole / 2);
    for (let i = 0; i < samples.length; i++) samples[i] = bytes.readInt16LE(i * 2);
    const mulaw = encodeMulaw(downsample(samples));
    if (mulaw.length > 0) events.onAudio(mulaw);
  }
  if (!isOver()) events.onSpoken(`${text} `);
}

/** Starts the request at once, and buffers its parts until they are read. */
function readAhead<T>(source: AsyncGenerator<T>): AsyncIterable<T> {
  const parts: T[] = [];
  let failure: { error: unknown } | undefined;
  let ended = false;
  let wake: () => void = () => undefined;
  void (async () => {
    try {
      for await (const part of source) {
        parts.push(part);
        wake();
      }
    } catch (error) {
      failure = { error };
    }
    ended = true;
    wake();
  })();
  return {
    async *[Symbol.asyncIterator]() {
      for (;;) {
        const part = parts.shift();
        if (part !== undefined) yield part;
        else if (failure !== undefined) throw failure.error;
        else if (ended) return;
        else await new Promise<void>((resolve) => (wake = resolve));
      }
    },
  };
}

function providerError(error: unknown, signal: AbortSignal): ProviderError {
  if (error instanceof ProviderError) return error;
  if (signal.aborted && signal.reason instanceof ProviderError) return signal.reason;
  const cause = error instanceof Error ? (error.cause as NodeJS.ErrnoException | undefined) : undefined;
  return new ProviderError('voice', `connection failed: ${cause?.code ?? 'broken off'}`);
}
