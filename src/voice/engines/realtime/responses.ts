import type { ClientEvent, RealtimeResponse } from './protocol.js';

/** The purpose of a response. */
export interface Purpose {
  /** `reply`: requested by the session, or begun by the provider itself; `line`: a sentence the session requested. */
  kind: 'reply' | 'line';
  /** The id of the reply or item. */
  id: string;
  /** The model must answer without calling a tool. */
  withoutTools?: boolean;
}

interface Active {
  responseId: string;
  purpose: Purpose;
  isCancelled: boolean;
  hasAudio: boolean;
}

/** A response that finished without being canceled. */
export interface DoneResponse {
  purpose: Purpose;
  hasAudio: boolean;
}

const METADATA_KEY = 'purpose';

export type Responses = ReturnType<typeof createResponses>;

/**
 * Schedules responses: the provider makes one at a time, and begins some by itself after the caller has spoken. Keeps
 * at most one request waiting, tracks the purpose of the current response, and cancels only that one.
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
  /** Requested, but not begun by the provider. */
  let requested: { key: string; purpose: Purpose; isCancelled: boolean } | undefined;
  let waiting: Purpose | undefined;
  /** Last progress of the provider with its current response, in ms. */
  let movedAtMs = 0;

  const isFree = () => p.isReady() && active === undefined && requested === undefined;

  function next(): void {
    if (waiting === undefined || !isFree()) return;
    const purpose = waiting;
    waiting = undefined;
    const key = `p${++count}`;
    requested = { key, purpose, isCancelled: false };
    movedAtMs = now();
    const choice = purpose.withoutTools === true ? { tool_choice: 'none' } : {};
    send({ type: 'response.create', response: { metadata: { [METADATA_KEY]: key }, ...choice } });
  }

  /** The request that this response answers. Without metadata in responses, it is matched by order. */
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
    want(purpose: Purpose): void {
      waiting = purpose;
      next();
    },

    /** Sends the waiting request if the provider is free. */
    next,

    /** @returns whether the provider began it by itself */
    created(response: RealtimeResponse): boolean {
      const asked = requestedFor(response);
      const purpose = asked?.purpose ?? { kind: 'reply', id: response.id };
      active = { responseId: response.id, purpose, isCancelled: false, hasAudio: false };
      movedAtMs = now();
      if (asked === undefined) return true;
      requested = undefined;
      if (asked.isCancelled) cancelActive();
      return false;
    },

    /** @returns the purpose of the response, or undefined if it is unknown or canceled */
    purposeOf: (responseId: string): Purpose | undefined =>
      active?.responseId === responseId && !active.isCancelled ? active.purpose : undefined,

    /** Audio of the current response has arrived. @returns whether it is the first */
    audioCame(): boolean {
      movedAtMs = now();
      const isFirst = active?.hasAudio === false;
      if (active !== undefined) active.hasAudio = true;
      return isFirst;
    },

    /** @returns the finished response, or undefined if it was canceled */
    done({ id }: RealtimeResponse): DoneResponse | undefined {
      if (active?.responseId !== id) return undefined;
      const { purpose, hasAudio, isCancelled } = active;
      active = undefined;
      movedAtMs = now();
      return isCancelled ? undefined : { purpose, hasAudio };
    },

    /** Cancels a request or response. */
    cancel(id: string): void {
      if (waiting?.id === id) waiting = undefined;
      if (requested?.purpose.id === id) requested.isCancelled = true;
      if (active?.purpose.id === id) cancelActive();
    },

    /** The provider rejected a request while another response is active. @returns whether it was ours; it is retried */
    refused(): boolean {
      if (requested === undefined) return false;
      const { purpose, isCancelled } = requested;
      requested = undefined;
      if (!isCancelled) waiting ??= purpose;
      return true;
    },

    /** The provider is gone: drops all requests. @returns the sentence that the session requested, if any */
    reset(): Purpose | undefined {
      const asked = waiting ?? requested?.purpose ?? active?.purpose;
      active = undefined;
      requested = undefined;
      waiting = undefined;
      return asked?.kind === 'line' ? asked : undefined;
    },

    /** The purpose of the current or requested response. */
    present: (): Purpose | undefined => active?.purpose ?? requested?.purpose,
    /** How long the provider has made no progress with it, in ms; 0 if there is none. */
    waitedMs: () => (active === undefined && requested === undefined ? 0 : now() - movedAtMs),
    isFree,
  };
}
