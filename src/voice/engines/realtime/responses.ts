import type { ClientEvent, RealtimeResponse } from './protocol.js';

/** What a response is made for. */
export interface Purpose {
  /** `reply`: one of the session's, or one that the provider began by itself; `line`: an item the session wants said. */
  kind: 'reply' | 'line';
  /** The reply's or the item's id. */
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

/** A response that is over and was not cancelled. */
export interface DoneResponse {
  purpose: Purpose;
  hasAudio: boolean;
}

const METADATA_KEY = 'purpose';

export type Responses = ReturnType<typeof createResponses>;

/**
 * The provider makes one response at a time, some by itself when the caller has spoken. Keeps at most one of ours waiting,
 * knows which one is being made and what for, and cancels only what is.
 */
export function createResponses(p: {
  send: (event: ClientEvent) => void;
  now: () => number;
  /** Whether there is a session that can be asked. */
  isReady: () => boolean;
}) {
  const { send, now } = p;
  let count = 0;
  let repeatsMetadata = false;
  let active: Active | undefined;
  /** Asked for and not begun. */
  let requested: { key: string; purpose: Purpose; isCancelled: boolean } | undefined;
  let waiting: Purpose | undefined;
  /** Since when the provider has not moved on with what it was asked for, ms. */
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

  /** The one that was asked for, if this is it. A provider that does not repeat metadata makes them in their order. */
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
    /** Asks for a response now, or when the present one is done. Of several that wait the last one is made. */
    want(purpose: Purpose): void {
      waiting = purpose;
      next();
    },

    /** Sends the one that waits, if the provider is free for it. */
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

    /** @returns what this response is for, or undefined when it is not to be heard any more */
    purposeOf: (responseId: string): Purpose | undefined =>
      active?.responseId === responseId && !active.isCancelled ? active.purpose : undefined,

    /** Audio of the present response has come. @returns whether it is the first */
    audioCame(): boolean {
      movedAtMs = now();
      const isFirst = active?.hasAudio === false;
      if (active !== undefined) active.hasAudio = true;
      return isFirst;
    },

    /** @returns what it was, unless it had been cancelled */
    done({ id }: RealtimeResponse): DoneResponse | undefined {
      if (active?.responseId !== id) return undefined;
      const { purpose, hasAudio, isCancelled } = active;
      active = undefined;
      movedAtMs = now();
      return isCancelled ? undefined : { purpose, hasAudio };
    },

    /** Takes back what was asked for, begun or not. */
    cancel(id: string): void {
      if (waiting?.id === id) waiting = undefined;
      if (requested?.purpose.id === id) requested.isCancelled = true;
      if (active?.purpose.id === id) cancelActive();
    },

    /** The provider refused one because it makes another. @returns whether it was one of ours, which comes after that */
    refused(): boolean {
      if (requested === undefined) return false;
      const { purpose, isCancelled } = requested;
      requested = undefined;
      if (!isCancelled) waiting ??= purpose;
      return true;
    },

    /** The provider is gone, and with it all that was asked of it. @returns the line that was to be said */
    reset(): Purpose | undefined {
      const asked = waiting ?? requested?.purpose ?? active?.purpose;
      active = undefined;
      requested = undefined;
      waiting = undefined;
      return asked?.kind === 'line' ? asked : undefined;
    },

    /** What is being made or was asked for. */
    present: (): Purpose | undefined => active?.purpose ?? requested?.purpose,
    /** How long the provider has kept us waiting with it, ms; 0 when nothing is. */
    waitedMs: () => (active === undefined && requested === undefined ? 0 : now() - movedAtMs),
    isFree,
  };
}
