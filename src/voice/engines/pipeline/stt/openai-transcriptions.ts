import { setTimeout as sleep } from 'node:timers/promises';
import { fetch, FormData, type Response } from 'undici';
import { z } from 'zod';
import { withoutTrailing } from '../../../../kernel/text.js';
import { decodeMulaw } from '../../../audio/mulaw.js';
import { pcmBytes, wavHeader } from '../../../audio/wav.js';
import { reportFailure } from '../../../models/failure-report.js';
import {
  bearer,
  failureOf,
  networkCodeOf,
  parseJson,
  readReason,
  readText,
  retryAfterOf,
} from '../../../models/http-api.js';
import { transcriptionLanguage } from '../../../models/transcription-language.js';
import { transcriptionHints } from '../../../models/transcription-hints.js';
import { setAmong } from '../../ignored-settings.js';
import { watchRequest, type RequestLimit } from '../../../models/request-watch.js';
import { checkOpenAiModel } from '../../start-checks/openai.js';
import { ProviderError, sentText, SilentProviderError, type SpeechToText, type SttOptions } from '../ports.js';
import type { SttDeps, SttProvider } from '../providers/description.js';
import { createUtteranceStt, type Transcribe } from './utterance-stt.js';

interface TranscriptionAccount {
  /** Includes the version, as in `https://api.openai.com/v1`. */
  baseUrl: string;
  /** Empty if the server needs none. */
  apiKey: string;
  model: string;
}

/**
 * How long one transcription may take with its retries, in ms, unless `STT_TIMEOUT_MS` is set. Transcriptions begin 300 ms
 * after the last voice or later, and the session counts STT as stalled 3.5 s after it (or `STT_TIMEOUT_MS`), so only the
 * first request of a pause surely ends before that.
 */
const STT_TIMEOUT_MS = 3_000;
const FIRST_RETRY_AFTER_MS = 200;
const MAX_BACKOFF_MS = 800;
/** Maximum size of a response. The words of 30 s of speech are far shorter. */
const MAX_RESPONSE_BYTES = 100_000;
const SAMPLE_RATE = 8_000;

/** The signal and the time limit of a transcription. */
interface Watch {
  signal: AbortSignal;
  limit: RequestLimit;
}

const transcription = z.object({ text: z.string().nullish() });

/** A response before it is decoded. */
export type SentTranscription = z.input<typeof transcription>;

/** STT with an OpenAI-compatible `/audio/transcriptions` endpoint, such as a self-hosted Whisper server. */
export function createOpenAiStt(account: TranscriptionAccount, deps: SttDeps): SpeechToText {
  const url = `${withoutTrailing(account.baseUrl, '/')}/audio/transcriptions`;
  const timeoutMs = deps.timeoutMs ?? STT_TIMEOUT_MS;

  /** Languages that the server rejected, but transcribed without their name. */
  const unnamed = new Set<string>();

  function post(body: FormData, signal: AbortSignal): Promise<Response> {
    const headers = bearer(account.apiKey);
    // A redirect is an error, so that neither the key nor the audio reaches another server.
    return fetch(url, { method: 'POST', headers, body, signal, redirect: 'error', dispatcher: deps.dispatcher });
  }

  /** Sends the audio with the name of its language, or without it if the server rejects the name. */
  async function postNamed(mulaw: Uint8Array, options: SttOptions, watch: Watch): Promise<Response> {
    const { language, settings } = options;
    const send = (name: string | undefined) => {
      const body = formOf(account.model, mulaw, name, settings.keyterms);
      const once = () => post(body, watch.signal);
      return deps.isPatient === false ? once() : sendPatiently(once, watch, account, options);
    };
    if (unnamed.has(language)) return send(undefined);
    const response = await send(language);
    if (response.status !== 400 && response.status !== 422) return response;
    const reason = await readReason(response.body);
    if (!/languages?\b/i.test(reason)) throw rejected(response, account, reason, options);
    const second = await send(undefined);
    if (second.ok) unnamed.add(language);
    return second;
  }

  const transcribe: Transcribe = async (mulaw, options, outer) => {
    const { settings, onIgnored } = options;
    if (transcriptionHints(account.model, settings.keyterms) === undefined)
      onIgnored?.(setAmong(settings, ['keyterms']));
    const request = watchRequest(outer);
    const { signal } = request;
    const limit = request.limit(
      timeoutMs,
      () => new SilentProviderError('recogniser', `did not respond within ${timeoutMs} ms`),
    );
    let response: Response | undefined;
    try {
      response = await postNamed(mulaw, options, { signal, limit });
      if (response.ok) return await textOf(response);
      throw rejected(response, account, await readReason(response.body), options);
    } catch (error) {
      if (error instanceof ProviderError) throw error;
      if (signal.aborted) throw signal.reason;
      throw new ProviderError('recogniser', failureOf(error), undefined, response === undefined);
    } finally {
      request.stop();
    }
  };

  return createUtteranceStt({ transcribe, newDetector: deps.newDetector });
}

/** OpenAI's `/audio/transcriptions`, or a compatible server. */
export const openAiTranscriptions: SttProvider<'openai'> = {
  name: 'openai',
  create: createOpenAiStt,
  check: checkOpenAiModel,
};

/** Sends a request, and sends it again while the server cannot be reached or is overloaded, until the time is over. */
async function sendPatiently(
  send: () => Promise<Response>,
  watch: Watch,
  account: TranscriptionAccount,
  options: SttOptions,
): Promise<Response> {
  for (let backoffMs = FIRST_RETRY_AFTER_MS; ; backoffMs = Math.min(2 * backoffMs, MAX_BACKOFF_MS)) {
    let waitMs = backoffMs;
    try {
      const response = await send();
      if (!(response.status === 429 || response.status >= 500)) return response;
      const reason = await readReason(response.body);
      waitMs = retryAfterOf(response.headers) ?? backoffMs;
      if (waitMs >= watch.limit.leftMs()) throw rejected(response, account, reason, options);
    } catch (error) {
      // A redirect is an error without a network code, and is not repeated.
      if (watch.signal.aborted || networkCodeOf(error) === undefined || waitMs >= watch.limit.leftMs()) throw error;
    }
    await sleep(waitMs, undefined, { signal: watch.signal });
  }
}

function rejected(
  { status, headers }: Response,
  { apiKey }: TranscriptionAccount,
  body: string,
  options: SttOptions,
): ProviderError {
  const sent = sentText(options);
  const report = reportFailure({ provider: 'openai', status, headers, body, sent, secrets: [apiKey] });
  return new ProviderError('recogniser', `responded with status ${status}`, retryAfterOf(headers), true, report);
}

/** Fields of OpenAI's transcription request; those of a model with `language` are known by self-hosted servers, too. */
function formOf(
  model: string,
  mulaw: Uint8Array,
  language: string | undefined,
  keyterms?: readonly string[],
): FormData {
  const pcm = pcmBytes(decodeMulaw(mulaw));
  const header = wavHeader({ sampleRate: SAMPLE_RATE, channels: 1, dataBytes: pcm.length });
  const form = new FormData();
  // The format is recognized by the name's extension.
  form.append('file', new Blob([header, pcm], { type: 'audio/wav' }), 'speech.wav');
  form.append('model', model);
  const named = language === undefined ? {} : transcriptionLanguage(model, language);
  for (const [name, value] of Object.entries({ ...named, ...transcriptionHints(model, keyterms) })) {
    if (typeof value === 'string') form.append(name, value);
    // The SDK writes lists in this way.
    else for (const item of value) form.append(`${name}[]`, item);
  }
  form.append('response_format', 'json');
  return form;
}

async function textOf({ body }: Response): Promise<string> {
  const tooLong = () => new ProviderError('recogniser', 'sent more than any transcript needs');
  const parsed = transcription.safeParse(parseJson(await readText(body, MAX_RESPONSE_BYTES, tooLong)));
  if (!parsed.success) throw new ProviderError('recogniser', 'sent an invalid transcript');
  return parsed.data.text ?? '';
}
