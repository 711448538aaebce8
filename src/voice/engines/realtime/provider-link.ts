import type { TranscriptTurn } from '../port.js';
import type { OpenAiRealtimeSettings } from '../../../platform/config/config.js';
import type { EngineCall } from '../port.js';
import { openProviderConnection } from './connection.js';
import type { ProviderConnection, ConnectionTimings } from './connection.js';
import type { ClientEvent, ServerEvent } from './protocol.js';
import { sessionFor, socketUrl } from './session-settings.js';

export interface LinkTimings extends ConnectionTimings {
  /** Delay before the reconnection attempt, in ms. */
  retryAfterMs: number;
}

export interface LinkHandlers {
  /** @param how `first` in this call; `again` after an outage; `renewed` before the provider's session limit */
  onReady(how: 'first' | 'again' | 'renewed'): void;
  onEvent(event: ServerEvent): void;
  /** The connection was lost and is being restored. */
  onOutage(why: string): void;
  /** The connection is lost for good. */
  onGone(why: string): void;
  /** The conversation so far, for a new provider session. */
  soFar(): readonly TranscriptTurn[];
}

/** Maximum messages kept while there is no provider session. */
const MAX_KEPT = 20;

/** The connection to the provider for a whole call: after an outage it reconnects once. */
export function createProviderLink(p: {
  settings: OpenAiRealtimeSettings;
  call: EngineCall;
  handlers: LinkHandlers;
  timings: Partial<LinkTimings> & Pick<LinkTimings, 'retryAfterMs'>;
}) {
  const { settings, call, handlers, timings } = p;
  let connection: ProviderConnection | undefined;
  let ready = false;
  let begun = false;
  /** The last session was closed on purpose, and a new one is connecting. */
  let renewing = false;
  let attempts = 0;
  let generation = 0;
  let readySinceMs = 0;
  let retrying: NodeJS.Timeout | undefined;
  let over = false;
  let untold: ClientEvent[] = [];

  function connect(how: 'first' | 'again' | 'renewed'): void {
    attempts += 1;
    generation += 1;
    const taken = begun ? { turns: handlers.soFar(), unnoticed: how === 'renewed' } : undefined;
    connection = openProviderConnection({
      url: socketUrl(settings),
      apiKey: settings.apiKey,
      session: sessionFor(settings, call, taken),
      timings,
      handlers: {
        onReady() {
          ready = true;
          renewing = false;
          readySinceMs = performance.now();
          const first = !begun;
          begun = true;
          for (const event of untold.splice(0)) connection?.send(event);
          handlers.onReady(first ? 'first' : how);
        },
        onEvent: (event) => handlers.onEvent(event),
        onLost: lost,
      },
    });
  }

  function drop(): void {
    connection?.close();
    connection = undefined;
    ready = false;
  }

  /** Keeps text messages for the next session; other events only make sense in the current one. */
  function send(event: ClientEvent): void {
    if (ready) return connection?.send(event);
    if (event.type !== 'conversation.item.create' || event.item['type'] !== 'message') return;
    untold = [...untold, event].slice(-MAX_KEPT);
  }

  function lost(why: string): void {
    if (over) return;
    connection = undefined;
    ready = false;
    renewing = false;
    if (attempts > 1) {
      over = true;
      return handlers.onGone(why);
    }
    handlers.onOutage(why);
    if (!over) retrying = setTimeout(() => connect('again'), timings.retryAfterMs);
  }

  return {
    dial: () => connect('first'),
    send,
    isReady: () => ready,
    /** Whether requests reach a session: the current one, or the one that is being renewed. */
    hasSession: () => ready || renewing,
    /** Changes with every connection, because a new session does not know earlier tool calls. */
    generation: () => generation,
    /** Age of the session, in ms. */
    ageMs: () => (ready ? performance.now() - readySinceMs : 0),
    /** The provider works: the next outage may be retried again. */
    works(): void {
      attempts = 1;
    },
    /** Drops the current connection and treats it as lost. */
    giveUpOn(why: string): void {
      if (!ready) return;
      drop();
      lost(why);
    },
    /** Continues in a new session; not reported as an outage. */
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
