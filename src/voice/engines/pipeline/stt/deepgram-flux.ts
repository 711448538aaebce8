import { z } from 'zod';
import { MULAW_SILENCE } from '../../../audio/mulaw.js';
import { openProviderSocket } from '../provider-socket.js';
import { ProviderError, type SpeechToText } from '../ports.js';
import { listenUrl, type DeepgramAccount } from './deepgram-account.js';

/** The protocol has no message that keeps an idle stream open; a little silence does it. */
const KEEP_ALIVE_MS = 4_000;
const SILENCE = new Uint8Array(160).fill(MULAW_SILENCE);

const turnInfo = z.object({ event: z.string(), transcript: z.string(), turn_index: z.number().default(0) });

/** Flux models by `/v2/listen`: they tell when a turn probably is over, when it goes on after all, and when it is over. */
export function createFluxRecogniser(account: DeepgramAccount): SpeechToText {
  return {
    decidesTurns: true,

    open(language, events) {
      let lastSentAt = performance.now();
      let openTurn: number | undefined;
      let forgottenTurn: number | undefined;
      const url = listenUrl(account, '/v2/listen', {
        eot_threshold: '0.7',
        eager_eot_threshold: '0.5',
        eot_timeout_ms: '5000',
        ...(account.model.endsWith('-multi') ? { language_hint: language.split('-')[0] ?? language } : {}),
      });
      const socket = openProviderSocket({
        part: 'recogniser',
        url,
        headers: { authorization: `Token ${account.apiKey}` },
        onMessage: read,
        onLost,
      });
      const keepingAlive = setInterval(() => {
        if (performance.now() - lastSentAt >= KEEP_ALIVE_MS) send(SILENCE);
      }, KEEP_ALIVE_MS / 4);

      function send(data: Uint8Array | object): void {
        lastSentAt = performance.now();
        socket.send(data);
      }

      function onLost(error: ProviderError): void {
        clearInterval(keepingAlive);
        events.onLost(error);
      }

      function read(message: Record<string, unknown>): void {
        if (message['type'] === 'Error') return lose(`reported ${String(message['code']).slice(0, 40)}`);
        events.onAlive();
        if (message['type'] !== 'TurnInfo') return undefined;
        const parsed = turnInfo.safeParse(message);
        if (!parsed.success) return lose('sent turn info of an unknown shape');
        const { event, turn_index: turn } = parsed.data;
        const text = parsed.data.transcript.trim();
        openTurn = event === 'EndOfTurn' || text === '' ? undefined : turn;
        if (turn === forgottenTurn) return undefined;
        switch (event) {
          case 'EagerEndOfTurn':
            return text === '' ? undefined : events.onMayEnd(text);
          case 'TurnResumed':
            return events.onGoesOn();
          case 'EndOfTurn':
            return text === '' ? undefined : events.onEnd(text);
          default:
            return text === '' ? undefined : events.onWords(text);
        }
      }

      function lose(why: string): void {
        close();
        events.onLost(new ProviderError('recogniser', why));
      }

      /** What is said from now on is to be another turn for the provider, too. */
      function forget(): void {
        if (openTurn === undefined) return;
        forgottenTurn = openTurn;
        openTurn = undefined;
        hurry();
      }

      function hurry(): void {
        send({ type: 'ForceEndTurn' });
      }

      function close(): void {
        clearInterval(keepingAlive);
        socket.close({ type: 'CloseStream' });
      }

      return { push: send, hurry, forget, close };
    },
  };
}
