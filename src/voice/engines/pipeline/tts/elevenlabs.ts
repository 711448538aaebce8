import { z } from 'zod';
import { withoutTrailing } from '../../../../kernel/text.js';
import { clamp } from '../../../models/clamp.js';
import { openProviderSocket } from '../provider-socket.js';
import type { ProviderError, TextToSpeech, TtsOptions } from '../ports.js';

export interface ElevenLabsAccount {
  /** `wss://…` of ElevenLabs or of a compatible server. */
  baseUrl: string;
  apiKey: string;
  model: string;
  /** The provider's id for a voice. */
  voiceIdOf(voice: string): string;
}

/** How long TTS may send no audio after it received text, in ms. */
export const TTS_TIMEOUT_MS = 5_000;

/** `RealtimeVoiceSettings.speed` in `@elevenlabs/elevenlabs-js` 2.73.0: from 0.7 to 1.2. */
const SPEED = [0.7, 1.2] as const;

/** The messages to `stream-input`: the first one, a sentence, and the end of the text. */
export type StreamInputMessage =
  | { text: ' '; voice_settings?: { speed: number } }
  | { text: string; flush: true }
  | { text: '' };

const alignment = z.object({ chars: z.array(z.string()).nullish() }).nullish();

const answer = z.object({
  audio: z.string().nullish(),
  isFinal: z.boolean().nullish(),
  /** The characters of the text as it was sent. */
  alignment,
  /** The characters as they are spoken, such as `ten` for `10`. */
  normalizedAlignment: alignment,
});

/** A message of `stream-input`, before it is decoded. */
export type SentStreamInputAnswer = z.input<typeof answer>;

/** TTS with ElevenLabs' `stream-input`: one socket per utterance, text sentence by sentence, audio as mu-law. */
export function createElevenLabsTts(account: ElevenLabsAccount, options: { timeoutMs?: number } = {}): TextToSpeech {
  const timeoutMs = options.timeoutMs ?? TTS_TIMEOUT_MS;

  return {
    open(options, events) {
      const { speechSpeed } = options.settings;
      let over = false;
      let finished = false;
      let said = '';
      let waiting: NodeJS.Timeout | undefined;
      const socket = openProviderSocket({
        part: 'voice',
        provider: 'elevenlabs',
        apiKey: account.apiKey,
        sentText: () => said,
        url: buildUrl(account, options),
        headers: { 'xi-api-key': account.apiKey },
        onMessage: read,
        onClosed: done,
        onLost: lost,
      });
      const send = (message: StreamInputMessage) => socket.send(message);
      send({
        text: ' ',
        ...(speechSpeed === undefined ? {} : { voice_settings: { speed: clamp(speechSpeed, SPEED) } }),
      });

      function read(message: Record<string, unknown>): void {
        if (over) return;
        if ((message['error'] ?? message['code'] ?? undefined) !== undefined) {
          return lost(socket.reportedError(message));
        }
        const parsed = answer.safeParse(message);
        if (!parsed.success) return lose('sent an invalid message');
        const { audio, isFinal } = parsed.data;
        if (audio) {
          // Before `finish`, the next text may take long to arrive, so stop the timeout.
          if (finished) expectAudio();
          else clearTimeout(waiting);
          events.onAudio(Buffer.from(audio, 'base64'));
          const words = wordsIn(parsed.data);
          if (words !== '') events.onSpoken(words);
        }
        if (isFinal === true) done();
      }

      function expectAudio(): void {
        clearTimeout(waiting);
        waiting = setTimeout(() => lose(`sent nothing for ${timeoutMs} ms`), timeoutMs);
      }

      function done(): void {
        if (over) return;
        leave();
        events.onDone();
      }

      function lose(why: string): void {
        lost(socket.errorOf(why));
      }

      function lost(error: ProviderError): void {
        if (over) return;
        leave();
        events.onLost(error);
      }

      function leave(): void {
        over = true;
        clearTimeout(waiting);
        socket.close();
      }

      return {
        say(text) {
          if (over) return;
          expectAudio();
          said += `${text} `;
          send({ text: `${text} `, flush: true });
        },
        finish() {
          if (over) return;
          finished = true;
          expectAudio();
          send({ text: '' });
        },
        cancel: leave,
      };
    },
  };
}

/** The words of a message's audio. Either form may be missing, and both are about equally long. */
function wordsIn({ alignment: sent, normalizedAlignment: spoken }: z.output<typeof answer>): string {
  return (sent?.chars ?? spoken?.chars ?? []).join('');
}

function buildUrl(account: ElevenLabsAccount, { voice, language, settings }: TtsOptions): string {
  const voiceId = settings.voiceId ?? account.voiceIdOf(voice);
  const path = `/v1/text-to-speech/${encodeURIComponent(voiceId)}/stream-input`;
  const url = new URL(withoutTrailing(account.baseUrl, '/') + path);
  url.searchParams.set('model_id', account.model);
  url.searchParams.set('output_format', 'ulaw_8000');
  url.searchParams.set('auto_mode', 'true');
  url.searchParams.set('inactivity_timeout', '60');
  // Without this, some audio comes without its characters.
  url.searchParams.set('sync_alignment', 'true');
  // Only the 2.5 models accept a language; the others detect it from the text.
  if (account.model.includes('v2_5')) url.searchParams.set('language_code', language.split('-')[0] ?? language);
  return url.href;
}
