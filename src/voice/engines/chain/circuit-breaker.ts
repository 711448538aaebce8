/** After so many failures in a row a provider is skipped. */
const FAILURES_TO_OPEN = 2;
/** After rejected or unanswered requests of so many calls in a row, the provider is at fault rather than the calls. */
const UNCLEAR_CALLS_TO_OPEN = 3;
/** How long a provider is skipped before one request tries it again, in ms. */
export const SKIPPED_FOR_MS = 30_000;
/**
 * How long the others skip a provider while one request tries it again, in ms: by default, longer than a provider with an
 * alternative may send nothing.
 */
export const TRIAL_MS = 5_000;

/** The health of one provider account, as this process sees it. */
export interface Circuit {
  /** Failures since the last success. */
  failures: number;
  /** Set while the provider is skipped: when it may be tried again, in ms. */
  trialAtMs?: number;
  /** The calls with the last rejected or unanswered requests since the last success, each once, newest last. */
  unclear?: readonly CircuitCall[];
}

/** A call as far as the health of providers is concerned. */
export interface CircuitCall {
  callId: string;
  accountId: string;
}

export type CircuitEvent =
  | { type: 'tried' | 'succeeded' | 'failed'; atMs: number }
  /** The provider rejected the request of a call because of its content, or sent nothing for it. */
  | { type: 'rejected' | 'silent'; atMs: number; by: CircuitCall };

export const CLOSED_CIRCUIT: Circuit = { failures: 0 };

/** Whether the provider must be skipped now. */
export function isOpen({ trialAtMs }: Circuit, atMs: number): boolean {
  return trialAtMs !== undefined && atMs < trialAtMs;
}

/**
 * Returns the health of a provider after an event. While one request tries a provider again, the others skip it. The
 * next trial is allowed soon even if the first one never ends, such as a request that was canceled.
 */
export function reduceCircuit(circuit: Circuit, event: CircuitEvent): Circuit {
  const { atMs } = event;
  switch (event.type) {
    case 'succeeded':
      return CLOSED_CIRCUIT;
    case 'tried':
      // A provider may be used while it is skipped if all others are, too. This does not make its next trial earlier.
      return circuit.trialAtMs === undefined
        ? circuit
        : { ...circuit, trialAtMs: Math.max(circuit.trialAtMs, atMs + TRIAL_MS) };
    case 'failed': {
      const failures = circuit.failures + 1;
      const stays = failures < FAILURES_TO_OPEN && circuit.trialAtMs === undefined;
      return { ...circuit, failures, ...(stays ? {} : { trialAtMs: atMs + SKIPPED_FOR_MS }) };
    }
    case 'rejected':
    case 'silent':
      return afterUnclear(circuit, event);
  }
}

/**
 * A rejected or unanswered request usually says something about its call only, such as a prompt that is too long. If it
 * happens to one call after the other, it is the provider or its settings, whatever the status. One account cannot cause
 * that: the last of these calls must belong to different accounts, also when it happens in a trial, so that a circuit
 * which two accounts have opened closes when only one of them continues. On a service with one account, a rejection is
 * therefore never counted; its calls try the first provider and then the next one.
 */
function afterUnclear(
  { failures, trialAtMs, unclear = [] }: Circuit,
  { type, by, atMs }: CircuitEvent & { by: CircuitCall },
): Circuit {
  const calls = [...unclear.filter(({ callId }) => callId !== by.callId), by].slice(-UNCLEAR_CALLS_TO_OPEN);
  const isOfProvider =
    calls.length === UNCLEAR_CALLS_TO_OPEN && new Set(calls.map(({ accountId }) => accountId)).size > 1;
  // A provider that rejects a trial has responded, so its failures are over.
  const left = { failures: trialAtMs === undefined || type === 'silent' ? failures : 0, unclear: calls };
  if (isOfProvider) return { ...left, trialAtMs: atMs + SKIPPED_FOR_MS };
  // After a trial without an answer, the next call may try.
  return trialAtMs === undefined || type === 'rejected' ? left : { ...left, trialAtMs: Math.min(trialAtMs, atMs) };
}
