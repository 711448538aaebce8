import { setTimeout as sleep } from 'node:timers/promises';
import { fetch, FormData, type Dispatcher, type Response } from 'undici';
import { z } from 'zod';
import { withoutTrailing } from '../../../../kernel/text.js';
import { decodeMulaw } from '../../../audio/mulaw.js';
import type { VoiceActivityDetector } from '../../../audio/voice-activity.js';
import { pcmBytes, wavHeader } from '../../../audio/wav.js';
import { bearer, failureOf, retryAfterOf } from '../../../models/http-api.js';
import { ProviderError, type SpeechToText } from '../ports.js';
import { createUtteranceStt, type Transcribe } from './utterance-stt.js';

interface TranscriptionAccount {
  /** Includes the version, as in `https://api.openai.com/v1`. */
  baseUrl: string;
  /** Empty if the server needs none. */
  apiKey: string;
  model: string;
}

/** How long one transcription may take with its retries, in ms. It is below the time after which STT counts as stalled. */
const STT_TIMEOUT_MS = 3_000;
const FIRST_RETRY_AFTER_MS = 200;
/** Maximum size of a response. The words of 30 s of speech are far shorter. */
const MAX_RESPONSE_BYTES = 100_000;
const SAMPLE_RATE = 8_000;

const transcription = z.object({ text: z.string().nullish() });

/** STT with an OpenAI-compatible `/audio/transcriptions` endpoint, such as a self-hosted Whisper server. */
export function createOpenAiStt(
  account: TranscriptionAccount,
  deps: { dispatcher: Dispatcher; newDetector: () => VoiceActivityDetector; timeoutMs?: number },
): SpeechToText {
  const url = `${withoutTrailing(account.baseUrl, '/')}/audio/transcriptions`;
  const timeoutMs = deps.timeoutMs ?? STT_TIMEOUT_MS;

  function post(body: FormData, signal: AbortSignal): Promise<Response> {
    const headers = bearer(account.apiKey);
    // A redirect is an error, so that neither the key nor the audio reaches another server.
    return fetch(url, { method: 'POST', headers, body, signal, redirect: 'error', dispatcher: deps.dispatcher });
  }

  const transcribe: Transcribe = async (mulaw, language, outer) => {
    const watch = watchTime(outer, timeoutMs);
    const body = formOf(account.model, mulaw, language);
    let response: Response | undefined;
    try {
      for (let backoffMs = FIRST_RETRY_AFTER_MS; ; backoffMs *= 2) {
        response = await post(body, watch.signal);
        if (response.ok) return await textOf(response);
        const { status } = response;
        await response.body?.cancel();
        const retryAfterMs = retryAfterOf(response.headers);
        const waitMs = retryAfterMs ?? backoffMs;
        if (!(status === 429 || status >= 500) || waitMs >= watch.leftMs())
          throw new ProviderError('recogniser', `responded with status ${status}`, retryAfterMs, true);
        response = undefined;
        await sleep(waitMs, undefined, { signal: watch.signal });
      }
    } catch (error) {
      if (error instanceof ProviderError) throw error;
      if (watch.signal.aborted) throw watch.signal.reason;
      throw new ProviderError('recogniser', failureOf(error), undefined, response === undefined);
    } finally {
      watch.stop();
    }
  };

  return createUtteranceStt({ transcribe, newDetector: deps.newDetector });
}

/** Fields of OpenAI's transcription request that self-hosted servers know, too. */
function formOf(model: string, mulaw: Uint8Array, language: string): FormData {
  const pcm = pcmBytes(decodeMulaw(mulaw));
  const header = wavHeader({ sampleRate: SAMPLE_RATE, channels: 1, dataBytes: pcm.length });
  const form = new FormData();
  // The format is recognized by the name's extension.
  form.append('file', new Blob([header, pcm], { type: 'audio/wav' }), 'speech.wav');
  form.append('model', model);
  // ISO-639-1, without a region.
  form.append('language', language.split('-')[0] ?? language);
  form.append('response_format', 'json');
  return form;
}

async function textOf({ body }: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of (body ?? []) as AsyncIterable<Uint8Array>) {
    parts.push(part);
    bytes += part.length;
    if (bytes > MAX_RESPONSE_BYTES) throw new ProviderError('recogniser', 'sent more than any transcript needs');
  }
  const parsed = transcription.safeParse(jsonIn(Buffer.concat(parts).toString('utf8')));
  if (!parsed.success) throw new ProviderError('recogniser', 'sent an invalid transcript');
  return parsed.data.text ?? '';
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A signal that aborts with the outer one, or with a ProviderError after `ms`. */
function watchTime(outer: AbortSignal, ms: number) {
  const controller = new AbortController();
  const endsAt = performance.now() + ms;
  const timer = setTimeout(
    () => controller.abort(new ProviderError('recogniser', `did not respond within ${ms} ms`)),
    ms,
  );
  const pass = () => controller.abort(outer.reason);
  if (outer.aborted) pass();
  outer.addEventListener('abort', pass, { once: true });
  return {
    signal: controller.signal,
    leftMs: () => endsAt - performance.now(),
    stop() {
      clearTimeout(timer);
      outer.removeEventListener('abort', pass);
      // Close a response that was not read to its end.
      controller.abort();
    },
  };
}
