import type { ClientEvent, RealtimeResponse } from './protocol.js';

/** The purpose of a response. */
export interface Purpose {
  /**
   * `reply`: a reply, which the session requested or the provider began. `phrase`: a sentence the session requested.
   */
  kind: 'reply' | 'phrase';
  /** The id of the reply or item. */
  id: string;
  /** Whether the model must answer without calling a tool. */
  withoutTools?: boolean;
  /** Replace the session's instructions for this response. */
  instructions?: string;
}

interface Active {
  responseId: string;
  purpose: Purpose;
  isCancelled: boolean;
  /** How much audio has arrived, including audio that arrives after the cancellation. */
  audioBytes: number;
}

/** A response that finished without being canceled. */
export interface DoneResponse {
  purpose: Purpose;
  hasAudio: boolean;
}

const METADATA_KEY = 'purpose';

export type Responses = ReturnType<typeof createResponses>;

/**
 * Schedules responses. The provider makes one at a time, and begins some without a request after the caller has spoken.
 * The scheduler keeps at most one request waiting, and tracks the purpose of the current response.
 */
export function createResponses(p: {
  send: (event: ClientEvent) => void;
  now: () => number;
  /** Whether there is a session that accepts requests. */
  isReady: () => boolean;
}) {
  const { send, now } = p;
  let count = 0;
  let repeatsMetadata = false;
  let active: Active | undefined;
  /** The request that the provider has not answered by a response yet. */
  let requested: { key: string; purpose: Purpose; isCancelled: boolean } | undefined;
  let waiting: Purpose | undefined;
  /** Last progress of the provider with its current response, in ms. */
  let progressAtMs = 0;

  const isFree = () => p.isReady() && active === undefined && requested === undefined;

  function next(): void {
    if (waiting === undefined || !isFree()) return;
    const purpose = waiting;
    waiting = undefined;
    const key = `p${++count}`;
    requested = { key, purpose, isCancelled: false };
    progressAtMs = now();
    send(requestOf(key, purpose));
  }

  /** Finds the request that a response answers. If the provider returns no metadata, the order decides. */
  function requestedFor({ metadata }: RealtimeResponse): typeof requested {
    const returned = metadata?.[METADATA_KEY];
    repeatsMetadata ||= returned !== undefined;
    const key = returned ?? (repeatsMetadata ? undefined : requested?.key);
    return key === requested?.key ? requested : undefined;
  }

  function cancelActive(): void {
    if (active === undefined || active.isCancelled) return;
    active.isCancelled = true;
    send({ type: 'response.cancel', response_id: active.responseId });
  }

  return {
    /** Requests a response now, or after the current one; replaces a request that waits. */
    request(purpose: Purpose): void {
      waiting = purpose;
      next();
    },

    /** Sends the waiting request if the provider is free. */
    next,

    /** Records that the provider began a response. @returns whether it did so without a request */
    created(response: RealtimeResponse): boolean {
      const asked = requestedFor(response);
      const purpose = asked?.purpose ?? { kind: 'reply', id: response.id };
      active = { responseId: response.id, purpose, isCancelled: false, audioBytes: 0 };
      progressAtMs = now();
      if (asked === undefined) return true;
      requested = undefined;
      if (asked.isCancelled) cancelActive();
      return false;
    },

    /** @returns the purpose of the response, or undefined if it is unknown or canceled */
    purposeOf: (responseId: string): Purpose | undefined =>
      active?.responseId === responseId && !active.isCancelled ? active.purpose : undefined,

    /** Audio of a response has arrived. @returns whether it is the first of the current response */
    onAudio(responseId: string, bytes: number): boolean {
      if (active?.responseId !== responseId) return false;
      if (!active.isCancelled) progressAtMs = now();
      active.audioBytes += bytes;
      return active.audioBytes === bytes;
    },

    /** @returns the finished response, or undefined if it was canceled or is unknown */
    done(response: RealtimeResponse): DoneResponse | undefined {
      // The provider may not have reported the creation of a response that fails at once.
      const asked = active === undefined ? requestedFor(response) : undefined;
      const ended = active?.responseId === response.id ? active : asked && { ...asked, audioBytes: 0 };
      if (ended === undefined) return undefined;
      if (asked === undefined) active = undefined;
      else requested = undefined;
      progressAtMs = now();
      return ended.isCancelled ? undefined : { purpose: ended.purpose, hasAudio: ended.audioBytes > 0 };
    },

    /** Cancels a request or response. */
    cancel(id: string): void {
      if (waiting?.id === id) waiting = undefined;
      if (requested?.purpose.id === id) requested.isCancelled = true;
      if (active?.purpose.id === id) cancelActive();
    },

    /** Handles a request that the busy provider rejected. @returns whether it was ours; then it is retried */
    onRejected(): boolean {
      if (requested === undefined) return false;
      const { purpose, isCancelled } = requested;
      requested = undefined;
      if (!isCancelled) waiting ??= purpose;
      return true;
    },

    /** Drops all requests after the connection was lost. @returns the sentence that the session requested, if any */
    reset(): Purpose | undefined {
      const asked = waiting ?? requested?.purpose ?? active?.purpose;
      active = undefined;
      requested = undefined;
      waiting = undefined;
      return asked?.kind === 'phrase' ? asked : undefined;
    },

    /** The current or requested response. */
    current: (): (Pick<Active, 'purpose'> & Partial<Active>) | undefined => active ?? requested,
    /** How long the provider has made no progress with the current response, in ms; 0 if there is none. */
    waitedMs: () => (active === undefined && requested === undefined ? 0 : now() - progressAtMs),
    isFree,
  };
}

function requestOf(key: string, { withoutTools, instructions }: Purpose): ClientEvent {
  const choice = withoutTools === true ? ({ tool_choice: 'none' } as const) : {};
  const words = instructions === undefined ? {} : { instructions };
  return { type: 'response.create', response: { metadata: { [METADATA_KEY]: key }, ...choice, ...words } };
}
