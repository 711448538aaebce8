import { z } from 'zod';
import { MULAW_SILENCE } from '../../../../audio/mulaw.js';
import { clampSetting, setAmong } from '../../../ignored-settings.js';
import { openProviderSocket } from '../../provider-socket.js';
import {
  sentText,
  type ProviderError,
  type SttEvents,
  type SttOptions,
  type SttStream,
  type SpeechToText,
} from '../../ports.js';
import { acceptedTerms, listenUrl, type DeepgramAccount } from './deepgram-account.js';

/**
 * After this time without audio, a little silence is sent to keep the stream open, because the protocol has no
 * keep-alive message.
 */
const KEEP_ALIVE_MS = 4_000;
/**
 * The ranges of `ListenV2EotTimeoutMs` and `ListenV2EotThreshold` in `@deepgram/sdk` 5.13.0. There, a confidence of 1 turns
 * the detection off, so 0.9 is the highest.
 */
const TIMEOUT_MS = [500, 60_000] as const;
const CONFIDENCE = [0.5, 0.9] as const;
const SILENCE = new Uint8Array(160).fill(MULAW_SILENCE);

/** The parameters of `/v2/listen`, besides those that both protocols have in common. */
export type FluxQuery = {
  eot_threshold: string;
  eager_eot_threshold: string;
  eot_timeout_ms: string;
  language_hint?: string;
  keyterm?: string[];
};

export type FluxMessage = { type: 'ForceEndTurn' | 'CloseStream' };

const turnInfo = z.object({
  event: z.string(),
  transcript: z.string().nullish(),
  turn_index: z.number().nullish(),
});

type TurnInfo = z.infer<typeof turnInfo>;
/** A `TurnInfo` message before it is decoded. */
export type SentTurnInfo = z.input<typeof turnInfo>;

/** STT with Flux models on `/v2/listen`. They report a probable end of turn, its retraction, and the final end. */
export function createFluxStt(account: DeepgramAccount): SpeechToText {
  const deployment: Deployment = { endsTurns: true };
  return { detectsEndOfTurn: true, open: (options, events) => openStream(account, deployment, options, events) };
}

/** The provider's deployment, as far as it is known. */
interface Deployment {
  /** Whether it takes `ForceEndTurn`. An older self-hosted one reports an error and closes the stream. */
  endsTurns: boolean;
}

function openStream(
  account: DeepgramAccount,
  deployment: Deployment,
  options: SttOptions,
  events: SttEvents,
): SttStream {
  options.onIgnored?.(setAmong(options.settings, ['endOfTurnEagerness']));
  const turns = createTurnReader(events);
  let lastSentAt = performance.now();
  const socket = openProviderSocket({
    part: 'recogniser',
    provider: 'deepgram',
    apiKey: account.apiKey,
    sentText: () => sentText(options),
    url: buildUrl(account, options),
    headers: { authorization: `Token ${account.apiKey}` },
    onMessage: read,
    onLost(error) {
      clearInterval(keepAliveTimer);
      events.onLost(error);
    },
  });
  const keepAliveTimer = setInterval(() => {
    if (performance.now() - lastSentAt >= KEEP_ALIVE_MS) send(SILENCE);
  }, KEEP_ALIVE_MS / 4);

  function send(data: Uint8Array | FluxMessage): void {
    lastSentAt = performance.now();
    socket.send(data);
  }

  function read(message: Record<string, unknown>): void {
    if (message['type'] === 'Error') {
      if (message['code'] === 'UNPARSABLE_CLIENT_MESSAGE') deployment.endsTurns = false;
      return lose(socket.reportedError(message));
    }
    events.onActivity();
    if (message['type'] !== 'TurnInfo') return undefined;
    const parsed = turnInfo.safeParse(message);
    return parsed.success ? turns.read(parsed.data) : lose(socket.errorOf('sent invalid turn info'));
  }

  function lose(error: ProviderError): void {
    close();
    events.onLost(error);
  }

  const finalize = () => (deployment.endsTurns ? send({ type: 'ForceEndTurn' }) : undefined);

  function close(): void {
    clearInterval(keepAliveTimer);
    socket.close({ type: 'CloseStream' } satisfies FluxMessage);
  }

  return { push: send, finalize, discardTurn: () => turns.discardTurn() && finalize(), close };
}

function buildUrl(account: DeepgramAccount, options: SttOptions): string {
  const { language } = options;
  const keyterms = acceptedTerms(options);
  const query: FluxQuery = {
    eot_threshold: String(clampSetting('endOfTurnConfidence', CONFIDENCE, options) ?? 0.7),
    eager_eot_threshold: '0.5',
    eot_timeout_ms: String(clampSetting('endOfTurnSilenceMs', TIMEOUT_MS, options) ?? 5_000),
    ...(account.model.endsWith('-multi') ? { language_hint: language.split('-')[0] ?? language } : {}),
    ...(keyterms.length > 0 ? { keyterm: keyterms } : {}),
  };
  return listenUrl(account, '/v2/listen', query);
}

/** Tells turns apart by the provider's turn index, and ignores further words of a discarded turn. */
function createTurnReader(events: SttEvents) {
  let openTurn: number | undefined;
  let forgottenTurn: number | undefined;
  return {
    read({ event, turn_index, transcript }: TurnInfo): void {
      const turn = turn_index ?? 0;
      const text = transcript?.trim() ?? '';
      openTurn = event === 'EndOfTurn' || text === '' ? undefined : turn;
      if (turn === forgottenTurn) return undefined;
      if (event === 'TurnResumed') return events.onTurnContinued();
      if (text === '') return undefined;
      if (event === 'EagerEndOfTurn') return events.onProbableEnd(text);
      return event === 'EndOfTurn' ? events.onEnd(text) : events.onInterim(text);
    },

    /** Discards the current turn. @returns whether the provider must end it, too */
    discardTurn(): boolean {
      if (openTurn === undefined) return false;
      forgottenTurn = openTurn;
      openTurn = undefined;
      return true;
    },
  };
}
