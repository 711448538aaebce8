import type { ReplyBudget } from '../../session/reply-budget.js';
import type { ClientEvent, RealtimeResponse } from './protocol.js';
import type { SpokenKind } from './spoken-items.js';

/** What a response was asked for. */
export interface Purpose {
  kind: SpokenKind;
  /** The model must answer without calling a tool. */
  withoutTools?: boolean;
  /** All of it has come, or it was given up by the provider. Not told when we cancelled it. */
  onDone?(): void;
}

interface Active {
  id: string;
  purpose: Purpose;
  cancelled: boolean;
  hasAudio: boolean;
}

const METADATA_KEY = 'purpose';
const REPLY: Purpose = { kind: 'reply' };

/**
 * The provider makes one response at a time, some by itself when the caller has spoken. Keeps at most one of ours waiting,
 * knows which one is being made and what for, and cancels only what is.
 */
export function createResponses(deps: {
  send: (event: ClientEvent) => void;
  now: () => number;
  /** Whether there is a session that can be asked. */
  isReady: () => boolean;
  budget: ReplyBudget;
}) {
  const { send, now, budget } = deps;
  const purposes = new Map<string, Purpose>();
  const cancelled = new Set<string>();
  let count = 0;
  let repeatsMetadata = false;
  let active: Active | undefined;
  /** Asked for and not begun. */
  let requested: { key: string; cancel: boolean } | undefined;
  let waiting: Purpose | undefined;
  /** Since when something is expected of the provider, ms; it has answered with something when this moves on. */
  let expectingSinceMs: number | undefined;
  /** The provider owes one that it makes by itself. */
  let expectsUnasked = false;

  function request(purpose: Purpose): void {
    budget.take();
    const key = `p${++count}`;
    purposes.set(key, purpose);
    requested = { key, cancel: false };
    expectingSinceMs = now();
    const choice = purpose.withoutTools === true ? { tool_choice: 'none' } : {};
    send({ type: 'response.create', response: { metadata: { [METADATA_KEY]: key }, ...choice } });
  }

  /** What is to be said last is said in any case. */
  function hasRoom(purpose: Purpose): boolean {
    return purpose.onDone !== undefined || budget.hasRoom();
  }

  function purposeOf(response: RealtimeResponse): Purpose {
    const told = response.metadata?.[METADATA_KEY];
    repeatsMetadata ||= told !== undefined;
    // A provider that does not repeat metadata makes the responses in the order they were asked for.
    const key = told ?? (repeatsMetadata ? undefined : requested?.key);
    if (key === undefined) return REPLY;
    if (requested?.key === key) requested = undefined;
    const purpose = purposes.get(key) ?? REPLY;
    purposes.delete(key);
    return purpose;
  }

  function cancelActive(): void {
    if (active === undefined || active.cancelled) return;
    active.cancelled = true;
    cancelled.add(active.id);
    send({ type: 'response.cancel', response_id: active.id });
  }

  return {
    /** Asks for a response now, or when the present one is done and there is room for another. Of several that wait the last one is made. */
    want(purpose: Purpose = { kind: 'reply' }): void {
      if (deps.isReady() && active === undefined && requested === undefined && hasRoom(purpose)) request(purpose);
      else waiting = purpose;
    },

    /** The provider will make one by itself: the caller has spoken. */
    expect(): void {
      expectsUnasked = true;
      expectingSinceMs ??= now();
    },

    /** @param refusesUnasked whether one that the provider makes by itself is not wanted now */
    created(response: RealtimeResponse, refusesUnasked = false): void {
      const wasRequested = requested;
      const purpose = purposeOf(response);
      if (requested === wasRequested) {
        expectsUnasked = false;
        budget.take();
      }
      const mustCancel = wasRequested !== undefined && requested === undefined && wasRequested.cancel;
      active = { id: response.id, purpose, cancelled: false, hasAudio: false };
      expectingSinceMs = now();
      if (mustCancel || (refusesUnasked && purpose === REPLY)) cancelActive();
    },

    /** @returns the response that this audio belongs to, or undefined when it is not to be heard any more */
    audio(responseId: string): { purpose: Purpose; isFirst: boolean } | undefined {
      if (cancelled.has(responseId) || active?.id !== responseId) return undefined;
      const isFirst = !active.hasAudio;
      active.hasAudio = true;
      expectingSinceMs = now();
      return { purpose: active.purpose, isFirst };
    },

    kindOf: (responseId: string): SpokenKind => (active?.id === responseId ? active.purpose.kind : 'reply'),
    isCancelled: (responseId: string) => cancelled.has(responseId),

    /** @returns what it was for, unless it had been cancelled */
    done(response: RealtimeResponse): { purpose: Purpose; hasAudio: boolean } | undefined {
      const ended = active?.id === response.id ? active : undefined;
      if (ended === undefined) return undefined;
      active = undefined;
      expectingSinceMs = requested === undefined && !expectsUnasked ? undefined : now();
      cancelled.delete(response.id);
      return ended.cancelled ? undefined : { purpose: ended.purpose, hasAudio: ended.hasAudio };
    },

    /** Sends the one that waits, if the provider is free for it and there is room. @returns whether it was sent */
    next(): boolean {
      if (!deps.isReady() || active !== undefined || requested !== undefined) return false;
      if (waiting === undefined || !hasRoom(waiting)) return false;
      const purpose = waiting;
      waiting = undefined;
      request(purpose);
      return true;
    },

    /** Cancels what is being made, and what was asked for and has not begun. */
    cancel(): void {
      waiting = undefined;
      expectsUnasked = false;
      expectingSinceMs = active === undefined && requested === undefined ? undefined : now();
      if (requested !== undefined) requested.cancel = true;
      cancelActive();
    },

    /** The provider refused one because it is making another: it comes after that. */
    refused(): void {
      if (requested === undefined) {
        // Its own: it does not try again by itself.
        if (expectsUnasked) waiting ??= { ...REPLY };
        expectsUnasked = false;
        return;
      }
      const { key, cancel } = requested;
      const purpose = purposes.get(key);
      requested = undefined;
      purposes.delete(key);
      if (!cancel) waiting ??= purpose;
    },

    /** The provider is gone, and with it all that was asked of it. */
    reset(): void {
      active = undefined;
      requested = undefined;
      waiting = undefined;
      expectsUnasked = false;
      expectingSinceMs = undefined;
      purposes.clear();
      cancelled.clear();
    },

    /** How long the provider has kept us waiting, ms; 0 when nothing is expected. */
    waitedMs: () => (expectingSinceMs === undefined ? 0 : now() - expectingSinceMs),
    isBusy: () =>
      active !== undefined || requested !== undefined || waiting !== undefined || expectingSinceMs !== undefined,
    /** What is being made has been heard of already. */
    hasAudio: () => active?.hasAudio ?? false,
  };
}

export type Responses = ReturnType<typeof createResponses>;
