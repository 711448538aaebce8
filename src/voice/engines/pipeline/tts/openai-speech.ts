import { fetch, type Dispatcher, type Response } from 'undici';
import { encodeMulaw } from '../../../audio/mulaw.js';
import { createDownsampler } from '../../../audio/resample.js';
import { withoutTrailing } from '../../../../kernel/text.js';
import { clampSetting } from '../../ignored-settings.js';
import { reportFailure } from '../../../models/failure-report.js';
import { bearer, failureOf, readReason, retryAfterOf } from '../../../models/http-api.js';
import {
  ProviderError,
  SilentProviderError,
  UnclearProviderError,
  type TtsEvents,
  type TextToSpeech,
  type TtsOptions,
} from '../ports.js';
import type { TtsProvider } from '../providers/description.js';
import { createSpeechCheck } from './speech-check.js';
import { TTS_TIMEOUT_MS } from './tts-timeout.js';

export interface SpeechAccount {
  /** Includes the version, as in `https://api.openai.com/v1`. */
  baseUrl: string;
  /** Empty if the server needs none. */
  apiKey: string;
  model: string;
  voiceIdOf(voice: string): string;
}

/** The request to `/audio/speech`. */
export interface OpenAiSpeechRequest {
  model: string;
  voice: string;
  input: string;
  response_format: 'pcm';
  speed?: number;
}

/** `SpeechCreateParams.speed` in the npm package `openai` 7.57.0. */
const SPEED = [0.25, 4] as const;

/** The provider's `pcm` is 24 kHz, 16 bits, one channel. */
const DOWN_BY = 3;
const BYTES_PER_SECOND = 48_000;

/** The most audio a text may have: 10 s plus 0.5 s per character. The slowest voices take 0.2 s per character. */
function maxBytesFor(text: string, speed: number): number {
  return (BYTES_PER_SECOND * (10 + text.length / 2)) / Math.min(1, speed);
}

/**
 * The first bytes of other formats of audio: servers that do not know `pcm` send their usual one. The type of the response
 * proves nothing, because gateways called PCM `audio/mpeg` (BerriAI/litellm#38798).
 */
const OTHER_FILES = ['RIFF', 'ID3', 'OggS', 'fLaC'];

interface Sentence {
  text: string;
  pcm: AsyncIterable<Uint8Array>;
  watch: SilenceWatch;
}

type SilenceWatch = ReturnType<typeof createSilenceWatch>;

/**
 * Reports that a sentence has no audio for `ms`. Sentences are requested in advance, and a server may make one after the
 * other, so the time begins when all sentences before it have arrived.
 */
function createSilenceWatch(ms: number, onSilence: (error: ProviderError) => void) {
  let timer: NodeJS.Timeout | undefined;
  let state: 'waiting' | 'watching' | 'over' = 'waiting';
  function restart(): void {
    clearTimeout(timer);
    timer = setTimeout(() => onSilence(new SilentProviderError('voice', `sent nothing for ${ms} ms`)), ms);
  }
  return {
    begin(): void {
      if (state !== 'waiting') return;
      state = 'watching';
      restart();
    },
    /** Call this when audio has arrived. */
    heard(): void {
      if (state === 'watching') restart();
    },
    end(): void {
      state = 'over';
      clearTimeout(timer);
    },
  };
}

/** TTS with an OpenAI-compatible `/audio/speech` endpoint. Requests each sentence separately and in advance. */
export function createOpenAiTts(
  account: SpeechAccount,
  deps: { dispatcher: Dispatcher; timeoutMs?: number },
): TextToSpeech {
  const timeoutMs = deps.timeoutMs ?? TTS_TIMEOUT_MS;

  async function* requestPcm(
    text: string,
    options: TtsOptions,
    controller: AbortController,
    watch: SilenceWatch,
  ): AsyncGenerator<Uint8Array> {
    const { voiceId = account.voiceIdOf(options.voice) } = options.settings;
    const speed = clampSetting('speechSpeed', SPEED, options);
    try {
      const response = await fetch(`${withoutTrailing(account.baseUrl, '/')}/audio/speech`, {
        method: 'POST',
        headers: { ...bearer(account.apiKey), 'content-type': 'application/json' },
        body: JSON.stringify({
          model: account.model,
          voice: voiceId,
          input: text,
          response_format: 'pcm',
          ...(speed === undefined ? {} : { speed }),
        } satisfies OpenAiSpeechRequest),
        signal: controller.signal,
        redirect: 'error',
        dispatcher: deps.dispatcher,
      });
      if (!response.ok || response.body === null) throw await rejected(response, account, text);
      const type = response.headers.get('content-type') ?? '';
      if (/json|text|html/.test(type)) throw new ProviderError('voice', 'returned text instead of audio');
      let bytes = 0;
      for await (const part of response.body as AsyncIterable<Uint8Array>) {
        watch.heard();
        if (bytes === 0 && isOtherFile(part, type)) throw otherAudio();
        bytes += part.length;
        if (bytes > maxBytesFor(text, speed ?? 1))
          throw new UnclearProviderError('voice', 'sent more than any reply needs');
        yield part;
      }
      if (bytes === 0) throw new UnclearProviderError('voice', 'returned no audio');
    } catch (error) {
      throw toProviderError(error, controller.signal);
    } finally {
      watch.end();
    }
  }

  return {
    open(options, events) {
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
        events.onLost(
          error instanceof ProviderError ? error : new ProviderError('voice', 'failed for an unknown reason'),
        );
      }

      function cancel(): void {
        over = true;
        sentences.length = 0;
        controller.abort();
      }

      return {
        say(text) {
          if (over) return;
          const watch = createSilenceWatch(timeoutMs, (error) => controller.abort(error));
          sentences.push({ text, watch, pcm: readAhead(requestPcm(text, options, controller, watch)) });
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

/** OpenAI's `/audio/speech`, or a compatible server. It has no list of voices. */
export const openAiSpeech: TtsProvider<'openai'> = {
  name: 'openai',
  create: createOpenAiTts,
  check: createSpeechCheck(({ voices, defaultVoice = '', ...account }, { means }) =>
    createOpenAiTts({ ...account, voiceIdOf: (voice) => voices[voice] ?? defaultVoice }, means),
  ),
};

async function rejected(response: Response, { apiKey }: SpeechAccount, sent: string): Promise<ProviderError> {
  const { status, headers } = response;
  const body = await readReason(response.body);
  const report = reportFailure({ provider: 'openai', status, headers, body, sent, secrets: [apiKey] });
  return new ProviderError('voice', `responded with status ${status}`, retryAfterOf(headers), false, report);
}

function otherAudio(): ProviderError {
  return new ProviderError('voice', 'returned audio in another format than pcm');
}

function isOtherFile(start: Uint8Array, type: string): boolean {
  const letters = Buffer.from(start.subarray(0, 4)).toString('latin1');
  if (OTHER_FILES.some((name) => letters.startsWith(name))) return true;
  // A frame of MP3 or AAC begins with eleven ones, as quiet PCM may, too; so the type must say the same.
  const [first = 0, second = 0] = start;
  return first === 0xff && second >= 0xe0 && /^audio\/(aac|mp3|mpeg)/.test(type);
}

async function speak({ text, pcm, watch }: Sentence, events: TtsEvents, isOver: () => boolean): Promise<void> {
  const downsample = createDownsampler(DOWN_BY);
  let odd: Uint8Array = new Uint8Array(0);
  watch.begin();
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

/** Starts to read the source at once, and buffers its parts until they are used. */
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

function toProviderError(error: unknown, signal: AbortSignal): ProviderError {
  if (error instanceof ProviderError) return error;
  if (signal.aborted && signal.reason instanceof ProviderError) return signal.reason;
  return new ProviderError('voice', failureOf(error));
}
