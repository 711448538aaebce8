import type { TranscriptTurn } from '../port.js';
import type { OpenAiRealtimeSettings } from '../../../platform/config/config.js';
import type { EngineCall } from '../port.js';
import { estimateTokens } from '../../models/token-estimate.js';
import type { FailureReport } from '../../models/failure-report.js';
import { isOfAllCalls } from '../chain/blame.js';
import type { CallerTranscription, ProviderFault } from './caller-transcription.js';
import { openProviderConnection } from './connection.js';
import type { ProviderConnection, ConnectionTimings } from './connection.js';
import type { ClientEvent, FullSessionSettings, ServerEvent } from './protocol.js';
import { buildSession, socketUrl } from './provider-settings.js';

export interface LinkTimings extends ConnectionTimings {
  /** Delay before the reconnection attempt, in ms. */
  retryAfterMs: number;
}

/** How a provider failed: it rejected the session or a response because of the content of the call, or it broke. */
export type LossKind = 'broken' | 'rejected';

export interface LinkHandlers {
  onReady(how: SessionStart): void;
  onEvent(event: ServerEvent): void;
  /** Called when the connection was lost and will be restored. @param report null if the failure was already reported */
  onOutage(why: string, report: FailureReport | null): void;
  /** Called when the provider rejected the transcription model. The call continues without transcription. */
  onTranscriberRejected(why: string, report: FailureReport): void;
  /**
   * Called when the connection is lost for good.
   * @param report null if the failure was already reported
   */
  onGone(why: string, report: FailureReport | null, kind: LossKind): void;
  /** The conversation so far, for a new provider session. */
  transcriptSoFar(): readonly TranscriptTurn[];
}

/** How a session begins: `first` in this call; `again` after an outage; `renewed` before the provider's session limit. */
type SessionStart = 'first' | 'again' | 'renewed';

const PROVIDER = 'openai';
/** Maximum messages kept while there is no provider session. */
const MAX_KEPT = 20;

/** Connects to the provider for a whole call. Reconnects once after an outage. */
export function createProviderLink(p: {
  settings: OpenAiRealtimeSettings;
  call: EngineCall;
  transcription: CallerTranscription;
  handlers: LinkHandlers;
  timings: Partial<LinkTimings> & Pick<LinkTimings, 'retryAfterMs'>;
}) {
  const { settings, call, transcription, handlers, timings } = p;
  let connection: ProviderConnection | undefined;
  let ready = false;
  let begun = false;
  /** Whether the last session was closed on purpose and a new one is connecting. */
  let renewing = false;
  let attempts = 0;
  let generation = 0;
  let readySinceMs = 0;
  let retrying: NodeJS.Timeout | undefined;
  let over = false;
  let session: FullSessionSettings | undefined;
  let unsent: ClientEvent[] = [];

  function connect(how: SessionStart): void {
    attempts += 1;
    generation += 1;
    const resumed = begun ? { turns: handlers.transcriptSoFar(), unnoticed: how === 'renewed' } : undefined;
    session = buildSession(settings, call, transcription.isOn(), resumed);
    connection = openProviderConnection({
      url: socketUrl(settings),
      apiKey: settings.apiKey,
      session,
      timings,
      handlers: {
        onReady() {
          ready = true;
          renewing = false;
          readySinceMs = performance.now();
          for (const event of unsent.splice(0)) connection?.send(event);
          handlers.onReady(begun ? how : 'first');
          begun = true;
        },
        onEvent: (event) => handlers.onEvent(event),
        onLost: lost,
        onRejected(why, error, report) {
          if (!transcription.endAfter(error)) return lost(why, report, isAboutContent(error) ? 'rejected' : 'broken');
          // The provider may close the rejected connection, so open another one.
          handlers.onTranscriberRejected(why, report);
          attempts -= 1;
          return connect(how);
        },
      },
    });
  }

  function drop(): void {
    connection?.close();
    connection = undefined;
    ready = false;
  }

  /**
   * Sends an event. While there is no provider session, keeps text messages for the next session and drops all other
   * events.
   */
  function send(event: ClientEvent): void {
    if (ready) return connection?.send(event);
    if (event.type !== 'conversation.item.create' || event.item.type !== 'message') return;
    unsent = [...unsent, event].slice(-MAX_KEPT);
  }

  function lost(why: string, report: FailureReport | null = { provider: PROVIDER }, kind: LossKind = 'broken'): void {
    if (over) return;
    connection = undefined;
    ready = false;
    renewing = false;
    if (attempts > 1 || (call.hasSuccessor === true && !begun)) {
      over = true;
      return handlers.onGone(why, report, kind);
    }
    handlers.onOutage(why, report);
    if (!over) retrying = setTimeout(() => connect('again'), timings.retryAfterMs);
  }

  return {
    open: () => connect('first'),
    send,
    isReady: () => ready,
    /** Makes a report of an error that the provider sent. */
    reportOf: (error: object): FailureReport => connection?.reportOf(error) ?? { provider: PROVIDER },
    /** Whether there is a session, or one is being renewed, so that requests will reach it. */
    hasSession: () => ready || renewing,
    /** A number that changes with every connection, because a new session does not know earlier tool calls. */
    generation: () => generation,
    /** Age of the session, in ms. */
    ageMs: () => (ready ? performance.now() - readySinceMs : 0),
    /** Estimates the tokens of the session's instructions and tools, which are the input of its first response. */
    promptTokens: () => estimateTokens(JSON.stringify([session?.instructions, session?.tools])),
    /** Records that the provider works, so that the link may reconnect after the next outage. */
    markHealthy(): void {
      attempts = 1;
    },
    /** Drops the current connection and treats it as lost. @param isReported whether the failure was already reported */
    dropConnection(why: string, isReported = false): void {
      if (!ready) return;
      drop();
      lost(why, isReported ? null : undefined);
    },
    /** Replaces the session by a new one, without reporting an outage. */
    renew(): void {
      drop();
      renewing = true;
      attempts = 0;
      connect('renewed');
    },
    close(): void {
      over = true;
      clearTimeout(retrying);
      drop();
    },
  };
}

export type ProviderLink = ReturnType<typeof createProviderLink>;

/** Whether a session was rejected because of the call's instruction, tools or settings. */
function isAboutContent({ type, code }: ProviderFault): boolean {
  return type === 'invalid_request_error' && !isOfAllCalls(code ?? '');
}
