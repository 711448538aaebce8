import { setTimeout as sleep } from 'node:timers/promises';
import type { StubDelivery } from './carrier/protocol.js';
import type { Placed, ScaleService } from './scale-service.js';

/** The pause before a rejected request is repeated, as long as its `Retry-After`; it doubles each time. */
const REPEAT_AFTER_MS = 1_000;
const LONGEST_PAUSE_MS = 8_000;
const REPEATED_FOR_MS = 120_000;
const DELIVERED_WITHIN_MS = 180_000;

/** An accepted call of a load. */
export interface LoadedCall {
  callId: string;
  /** From the first request for it to the response that accepted it. */
  startMs: number;
  delivery?: StubDelivery;
}

/** Follows the calls that are placed, until their webhooks arrive. */
export function followCalls(service: ScaleService) {
  const calls = new Map<string, LoadedCall>();
  const early = new Map<string, StubDelivery>();
  const waiting = new Map<string, () => void>();
  const responses: Placed[] = [];
  const deliveries: StubDelivery[] = [];
  /** Calls that were rejected and are requested again later. */
  let repeated = 0;
  const stop = service.carrier.onDelivery((delivery) => {
    const { webhookOf: callId } = delivery;
    const call = calls.get(callId);
    if (call === undefined) early.set(callId, delivery);
    else settle(call, delivery);
  });

  function settle(call: LoadedCall, delivery: StubDelivery): void {
    if (call.delivery !== undefined) return;
    call.delivery = delivery;
    deliveries.push(delivery);
    waiting.get(call.callId)?.();
    waiting.delete(call.callId);
  }

  /** Requests a call once. Returns it if it was accepted, and otherwise the response. */
  async function request(began: number): Promise<LoadedCall | Placed> {
    const placed = await service.place();
    responses.push(placed);
    if (placed.callId === undefined) return placed;
    const call: LoadedCall = { callId: placed.callId, startMs: performance.now() - began };
    calls.set(call.callId, call);
    const known = early.get(call.callId);
    if (known !== undefined) settle(call, known);
    return call;
  }

  return {
    /** The accepted calls, in the order of their responses. */
    calls,
    /** All responses to requests for calls. */
    responses,
    /** The webhooks of accepted calls, in the order of their arrival. */
    deliveries,
    delivered: () => deliveries.length,
    /** Calls that are accepted and have no webhook yet, and calls that are requested again. */
    inFlight: () => calls.size - deliveries.length + repeated,

    /** Requests a call once, whatever the response is. */
    place: () => request(performance.now()),

    /** Requests a call until it is accepted. */
    async placeAccepted(): Promise<LoadedCall> {
      const began = performance.now();
      let answer = await request(began);
      if (isAccepted(answer)) return answer;
      repeated += 1;
      try {
        for (let pauseMs = REPEAT_AFTER_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
          await sleep(pauseMs);
          answer = await request(began);
          if (isAccepted(answer)) return answer;
          if (performance.now() - began > REPEATED_FOR_MS)
            throw new Error(`a call was rejected for ${REPEATED_FOR_MS / 1_000} s: ${answer.status} ${answer.error}`);
        }
      } finally {
        repeated -= 1;
      }
    },

    /** Resolves when the webhook of a call has arrived; rejects if it takes too long. */
    async end(call: LoadedCall): Promise<void> {
      if (call.delivery !== undefined) return;
      await new Promise<void>((resolve, reject) => {
        const late = () => reject(new Error(`no webhook of ${call.callId} within ${DELIVERED_WITHIN_MS / 1_000} s`));
        const timer = setTimeout(late, DELIVERED_WITHIN_MS);
        waiting.set(call.callId, () => (clearTimeout(timer), resolve()));
      });
    },

    /** Waits until every webhook has arrived. @returns the calls that have none in time */
    async drain(withinMs = DELIVERED_WITHIN_MS): Promise<number> {
      const giveUpAt = Date.now() + withinMs;
      while (calls.size > deliveries.length && Date.now() < giveUpAt) await sleep(100);
      return calls.size - deliveries.length;
    },

    stop,
  };
}

function isAccepted(answer: LoadedCall | Placed): answer is LoadedCall {
  return 'startMs' in answer;
}

export type FollowedCalls = ReturnType<typeof followCalls>;

/**
 * Calls a function at a constant rate, without waiting for it to end, until the time is over.
 * @throws Error the first error of a call of the function
 */
export async function atRate(perSecond: number, ms: number, act: () => Promise<unknown>): Promise<void> {
  const began = performance.now();
  const acts: Promise<unknown>[] = [];
  const failed: unknown[] = [];
  for (let count = 0; (count * 1_000) / perSecond < ms && failed.length === 0; count += 1) {
    const dueMs = began + (count * 1_000) / perSecond - performance.now();
    if (dueMs > 0) await sleep(dueMs);
    acts.push(act().catch((error: unknown) => void failed.push(error)));
  }
  await Promise.all(acts);
  if (failed.length > 0) throw failed[0];
}
