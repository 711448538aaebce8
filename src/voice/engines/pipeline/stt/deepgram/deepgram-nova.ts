import { z } from 'zod';
import { openProviderSocket } from '../../provider-socket.js';
import { setAmong } from '../../../ignored-settings.js';
import { sentText, type SpeechToText, type SttOptions } from '../../ports.js';
import { acceptedTerms, listenUrl, type DeepgramAccount } from './deepgram-account.js';

/**
 * Interval of keep-alive messages. It must be below 10 s, because the provider closes a stream that is silent for that
 * long (NET-0001).
 */
const KEEP_ALIVE_MS = 4_000;

/** The regional variants of our languages that the provider supports. The provider rejects all others. */
const REGIONS: Readonly<Record<string, string>> = {
  'en-US': 'en-US',
  'en-GB': 'en-GB',
  'es-MX': 'es-419',
  'pt-BR': 'pt-BR',
};

/** Pause after which the words so far are reported as final. A shorter silence that ends the turn shortens it, too. */
const PAUSE_MS = 300;
/**
 * Shortest time without words after which the provider reports the end of the utterance. It cannot be shorter, because
 * the provider finds these gaps in interim results, which it sends once a second
 * (https://developers.deepgram.com/docs/utterance-end).
 */
const UTTERANCE_END_MS = 1_000;

const BYTES_PER_SECOND = 8_000;

/** The parameters of `/v1/listen`, besides those that both protocols have in common. */
export type NovaQuery = {
  language: string;
  interim_results: 'true';
  smart_format: 'true';
  endpointing: string;
  utterance_end_ms: string;
  /** Terms for Nova-3; older models have `keywords`, which Nova-3 rejects. */
  keyterm?: string[];
  keywords?: string[];
};

export type NovaMessage = { type: 'KeepAlive' | 'Finalize' | 'CloseStream' };

const results = z.object({
  /** Position of the result in the audio, in seconds. */
  start: z.number().nullish(),
  duration: z.number().nullish(),
  is_final: z.boolean().nullish(),
  speech_final: z.boolean().nullish(),
  channel: z.object({ alternatives: z.array(z.object({ transcript: z.string().nullish() })) }),
});

/** A `Results` message before it is decoded. */
export type SentNovaResults = z.input<typeof results>;

/** STT with Nova models on `/v1/listen`. They report pauses; the session decides whether a pause ends the turn. */
export function createNovaStt(account: DeepgramAccount): SpeechToText {
  return {
    detectsEndOfTurn: false,

    open(options, events) {
      options.onIgnored?.(setAmong(options.settings, ['endOfTurnEagerness', 'endOfTurnConfidence']));
      let finals: string[] = [];
      let mayHaveEnded = false;
      let lastSentAt = performance.now();
      let sentSeconds = 0;
      let forgottenSeconds = 0;
      const socket = openProviderSocket({
        part: 'recogniser',
        provider: 'deepgram',
        apiKey: account.apiKey,
        sentText: () => sentText(options),
        url: listenUrl(account, '/v1/listen', queryOf(account.model, options)),
        headers: { authorization: `Token ${account.apiKey}` },
        onMessage: read,
        onLost(error) {
          clearInterval(keepAliveTimer);
          events.onLost(error);
        },
      });
      const keepAliveTimer = setInterval(() => {
        if (performance.now() - lastSentAt >= KEEP_ALIVE_MS) send({ type: 'KeepAlive' });
      }, KEEP_ALIVE_MS / 4);

      function send(data: Uint8Array | NovaMessage): void {
        lastSentAt = performance.now();
        socket.send(data);
      }

      function read(message: Record<string, unknown>): void {
        switch (message['type']) {
          case 'Results':
            return readResults(message);
          case 'UtteranceEnd':
            events.onActivity();
            if (finals.length > 0) endTurn(finals.join(' '));
            return undefined;
          default:
            return events.onActivity();
        }
      }

      function readResults(message: Record<string, unknown>): void {
        const parsed = results.safeParse(message);
        if (!parsed.success) {
          close();
          return events.onLost(socket.errorOf('sent invalid results'));
        }
        events.onActivity();
        const { start, duration, is_final: isFinal, speech_final: isPause, channel } = parsed.data;
        // Ignore late words of a finished turn, which would start another one.
        if ((start ?? Infinity) + (duration ?? 0) <= forgottenSeconds) return;
        const text = channel.alternatives[0]?.transcript?.trim() ?? '';
        if (text !== '' && mayHaveEnded) {
          mayHaveEnded = false;
          events.onTurnContinued();
        }
        const words = [...finals, text].filter(Boolean).join(' ');
        if (isFinal === true && text !== '') finals.push(text);
        if (text !== '') events.onInterim(words);
        if (isPause === true && words !== '' && !mayHaveEnded) {
          mayHaveEnded = true;
          events.onProbableEnd(words);
        }
      }

      function endTurn(text: string): void {
        discardTurn();
        events.onEnd(text);
      }

      function discardTurn(): void {
        finals = [];
        mayHaveEnded = false;
        forgottenSeconds = sentSeconds;
      }

      function push(frame: Uint8Array): void {
        sentSeconds += frame.length / BYTES_PER_SECOND;
        send(frame);
      }

      function close(): void {
        clearInterval(keepAliveTimer);
        socket.close({ type: 'CloseStream' } satisfies NovaMessage);
      }

      return { push, finalize: () => send({ type: 'Finalize' }), discardTurn, close };
    },
  };
}

function queryOf(model: string, options: SttOptions): NovaQuery {
  const { language } = options;
  const { endOfTurnSilenceMs: silenceMs = PAUSE_MS } = options.settings;
  return {
    language: REGIONS[language] ?? language.split('-')[0] ?? language,
    interim_results: 'true',
    smart_format: 'true',
    endpointing: String(Math.min(PAUSE_MS, silenceMs)),
    utterance_end_ms: String(Math.max(UTTERANCE_END_MS, silenceMs)),
    ...termsOf(model, acceptedTerms(options)),
  };
}

function termsOf(model: string, keyterms: string[]): Pick<NovaQuery, 'keyterm' | 'keywords'> {
  if (keyterms.length === 0) return {};
  if (model.startsWith('nova-3')) return { keyterm: keyterms };
  // A colon would separate a keyword from its weight.
  return { keywords: keyterms.map((term) => term.replaceAll(':', ' ')) };
}
