/** After so many failures in a row a provider is skipped. */
const FAILURES_TO_OPEN = 2;
/** How long a provider is skipped before one request tries it again, in ms. */
export const SKIPPED_FOR_MS = 30_000;

/** The health of one provider account, as this process sees it. */
export interface Circuit {
  /** Failures since the last success. */
  failures: number;
  /** Set while the provider is skipped: when it may be tried again, in ms. */
  trialAtMs?: number;
}

export type CircuitEvent = { type: 'tried' | 'succeeded' | 'failed'; atMs: number };

export const CLOSED_CIRCUIT: Circuit = { failures: 0 };

/** Whether the provider must be skipped now. */
export function isOpen({ trialAtMs }: Circuit, atMs: number): boolean {
  return trialAtMs !== undefined && atMs < trialAtMs;
}

/**
 * Returns the health of a provider after an event. While one request tries a provider again, the others skip it. The
 * next trial is allowed after the same time even if the first one never ends, such as a request that was canceled.
 */
export function reduceCircuit(circuit: Circuit, { type, atMs }: CircuitEvent): Circuit {
  switch (type) {
    case 'succeeded':
      return CLOSED_CIRCUIT;
    case 'tried':
      return circuit.trialAtMs === undefined ? circuit : { ...circuit, trialAtMs: atMs + SKIPPED_FOR_MS };
    case 'failed': {
      const failures = circuit.failures + 1;
      return failures < FAILURES_TO_OPEN ? { failures } : { failures, trialAtMs: atMs + SKIPPED_FOR_MS };
    }
  }
}
