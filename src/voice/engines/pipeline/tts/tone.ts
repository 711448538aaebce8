import { fetch, type Dispatcher } from 'undici';
import { bearer, failureOf, retryAfterOf } from '../../../models/http-api.js';
import { ProviderError, type TextToSpeech } from '../ports.js';
import type { TtsProvider } from '../providers/description.js';
import { TTS_TIMEOUT_MS } from './tts-timeout.js';

interface ToneAccount {
  baseUrl: string;
  /** Empty if the server needs none. */
  apiKey: string;
  voiceIdOf(voice: string): string;
}

/** The body of a request; the response is a tone for the text, as 8 kHz mu-law. */
interface ToneRequest {
  voice: string;
  text: string;
}

/** The most audio a text may have: 10 s plus 0.5 s per character, at 8,000 bytes a second. */
const maxBytesFor = (text: string): number => 8_000 * (10 + text.length / 2);

/** TTS by a server that returns a tone in place of speech. It requests one text after the other. */
function createToneTts(account: ToneAccount, deps: { dispatcher: Dispatcher; timeoutMs?: number }): TextToSpeech {
  const timeoutMs = deps.timeoutMs ?? TTS_TIMEOUT_MS;

  async function* requestTone(request: ToneRequest, controller: AbortController): AsyncGenerator<Uint8Array> {
    const { signal } = controller;
    const silence = setTimeout(
      () => controller.abort(new ProviderError('voice', `sent nothing for ${timeoutMs} ms`)),
      timeoutMs,
    );
    try {
      const response = await fetch(`${account.baseUrl}/tone`, {
        method: 'POST',
        headers: { ...bearer(account.apiKey), 'content-type': 'application/json' },
        body: JSON.stringify(request),
        signal,
        redirect: 'error',
        dispatcher: deps.dispatcher,
      });
      if (!response.ok || response.body === null) {
        void response.body?.cancel();
        throw new ProviderError('voice', `responded with status ${response.status}`, retryAfterOf(response.headers));
      }
      let bytes = 0;
      for await (const part of response.body as AsyncIterable<Uint8Array>) {
        silence.refresh();
        bytes += part.length;
        if (bytes > maxBytesFor(request.text)) throw new ProviderError('voice', 'sent more than any reply needs');
        yield part;
      }
      if (bytes === 0) throw new ProviderError('voice', 'returned no audio');
    } catch (error) {
      if (signal.reason instanceof ProviderError) throw signal.reason;
      throw error instanceof ProviderError ? error : new ProviderError('voice', failureOf(error));
    } finally {
      clearTimeout(silence);
    }
  }

  return {
    open({ voice }, events) {
      const controller = new AbortController();
      let over = false;
      let last = Promise.resolve();

      function then(work: () => Promise<void> | void): void {
        last = last.then(() => (over ? undefined : work())).catch(lose);
      }

      async function speak(text: string): Promise<void> {
        for await (const part of requestTone({ voice: account.voiceIdOf(voice), text }, controller)) {
          if (over) return;
          events.onAudio(part);
        }
        if (!over) events.onSpoken(`${text} `);
      }

      function lose(error: unknown): void {
        if (over) return;
        cancel();
        events.onLost(error as ProviderError);
      }

      function cancel(): void {
        over = true;
        controller.abort();
      }

      return {
        say: (text) => then(() => speak(text)),
        finish: () =>
          then(() => {
            over = true;
            events.onDone();
          }),
        cancel,
      };
    },
  };
}

/** A server of tones. It can be asked neither about its settings nor about voices. */
export const tone: TtsProvider<'tone'> = {
  name: 'tone',
  create: createToneTts,
  check: () => Promise.resolve([]),
};
