import type { TranscriptTurn } from '../port.js';
import type { OpenAiRealtimeSettings } from '../../../platform/config/config.js';
import type { EngineCall } from '../port.js';
import { openProviderConnection } from './connection.js';
import type { ProviderConnection, ConnectionTimings } from './connection.js';
import type { ClientEvent, ServerEvent } from './protocol.js';
import { sessionFor, socketUrl } from './session-settings.js';

export interface LinkTimings extends ConnectionTimings {
  /** Before the one more attempt, ms. */
  retryAfterMs: number;
}

export interface LinkHandlers {
  /** @param how `first` in this call; `again` after an outage; `renewed` before the provider would have ended the session */
  onReady(how: 'first' | 'again' | 'renewed'): void;
  onEvent(event: ServerEvent): void;
  /** The provider went away and is dialed once more. */
  onOutage(why: string): void;
  /** It is gone for good. */
  onGone(why: string): void;
  /** What was said so far: another session is told. */
  soFar(): readonly TranscriptTurn[];
}

/** Of what is told while there is no session. */
const MAX_KEPT = 20;

/** The way to the provider for the length of a call: one connection after the other, each outage answered by one more. */
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
  /** A session was left in order, and another takes its place. */
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
    const soFar = begun ? handlers.soFar() : undefined;
    connection = openProviderConnection({
      url: socketUrl(settings),
      apiKey: settings.apiKey,
      session: sessionFor(settings, call, soFar),
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

  /** What the model has to know it is told by the next session; all else is of use to the present one only. */
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
    /** Whether what is asked for now is asked of a session: of this one, or of the one that takes its place in a moment. */
    hasSession: () => ready || renewing,
    /** Changes with every connection: what one was told, another does not know. */
    generation: () => generation,
    /** How old the session is, ms. */
    ageMs: () => (ready ? performance.now() - readySinceMs : 0),
    /** The provider does its work: the next outage has its attempt again. */
    works(): void {
      attempts = 1;
    },
    /** What comes from this connection is of no use any more. */
    giveUpOn(why: string): void {
      if (!ready) return;
      drop();
      lost(why);
    },
    /** Goes on in a new session without a word. */
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
