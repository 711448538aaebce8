import { z } from 'zod';
import { MULAW_SILENCE } from '../../../audio/mulaw.js';
import { openProviderSocket } from '../provider-socket.js';
import { ProviderError, type RecogniserEvents, type RecogniserStream, type SpeechToText } from '../ports.js';
import { listenUrl, type DeepgramAccount } from './deepgram-account.js';

/** The protocol has no keep-alive message, so send a little silence instead. */
const KEEP_ALIVE_MS = 4_000;
const SILENCE = new Uint8Array(160).fill(MULAW_SILENCE);

const turnInfo = z.object({ event: z.string(), transcript: z.string(), turn_index: z.number().default(0) });

type TurnInfo = z.infer<typeof turnInfo>;

/** Flux models on `/v2/listen`: they report a probable end of turn, its retraction, and the final end of turn. */
export function createFluxRecogniser(account: DeepgramAccount): SpeechToText {
  return { decidesTurns: true, open: (language, events) => openStream(account, language, events) };
}

function openStream(account: DeepgramAccount, language: string, events: RecogniserEvents): RecogniserStream {
  const turns = createTurnReader(events);
  let lastSentAt = performance.now();
  const socket = openProviderSocket({
    part: 'recogniser',
    url: urlFor(account, language),
    headers: { authorization: `Token ${account.apiKey}` },
    onMessage: read,
    onLost(error) {
      clearInterval(keepingAlive);
      events.onLost(error);
    },
  });
  const keepingAlive = setInterval(() => {
    if (performance.now() - lastSentAt >= KEEP_ALIVE_MS) send(SILENCE);
  }, KEEP_ALIVE_MS / 4);

  function send(data: Uint8Array | object): void {
    lastSentAt = performance.now();
    socket.send(data);
  }

  function read(message: Record<string, unknown>): void {
    if (message['type'] === 'Error') return lose(`reported ${String(message['code']).slice(0, 40)}`);
    events.onAlive();
    if (message['type'] !== 'TurnInfo') return undefined;
    const parsed = turnInfo.safeParse(message);
    return parsed.success ? turns.read(parsed.data) : lose('sent turn info of an unknown shape');
  }

  function lose(why: string): void {
    close();
    events.onLost(new ProviderError('recogniser', why));
  }

  const hurry = () => send({ type: 'ForceEndTurn' });

  function close(): void {
    clearInterval(keepingAlive);
    socket.close({ type: 'CloseStream' });
  }

  return { push: send, hurry, forget: () => turns.forget() && hurry(), close };
}

function urlFor(account: DeepgramAccount, language: string): string {
  return listenUrl(account, '/v2/listen', {
    eot_threshold: '0.7',
    eager_eot_threshold: '0.5',
    eot_timeout_ms: '5000',
    ...(account.model.endsWith('-multi') ? { language_hint: language.split('-')[0] ?? language } : {}),
  });
}

/** Distinguishes turns by the provider's turn index; a forgotten turn receives no more words. */
function createTurnReader(events: RecogniserEvents) {
  let openTurn: number | undefined;
  let forgottenTurn: number | undefined;
  return {
    read({ event, turn_index: turn, transcript }: TurnInfo): void {
      const text = transcript.trim();
      openTurn = event === 'EndOfTurn' || text === '' ? undefined : turn;
      if (turn === forgottenTurn) return undefined;
      if (event === 'TurnResumed') return events.onGoesOn();
      if (text === '') return undefined;
      if (event === 'EagerEndOfTurn') return events.onMayEnd(text);
      return event === 'EndOfTurn' ? events.onEnd(text) : events.onWords(text);
    },

    /** Discards the current turn. @returns whether the provider must end it, too */
    forget(): boolean {
      if (openTurn === undefined) return false;
      forgottenTurn = openTurn;
      openTurn = undefined;
      return true;
    },
  };
}
