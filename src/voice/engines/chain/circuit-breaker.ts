/** After so many failures in a row the calls of an account skip a provider. */
const FAILURES_TO_OPEN = 2;
/** After failed or rejected requests of so many calls in a row, the provider is at fault rather than the calls. */
const CALLS_TO_OPEN = 3;
/** How long a provider is skipped before one request tries it again, in ms. */
export const SKIPPED_FOR_MS = 30_000;
/**
 * How long the others skip a provider while one request tries it again, in ms: by default, longer than a provider with an
 * alternative may send nothing.
 */
export const TRIAL_MS = 5_000;

/** The health of one provider account for the calls of one account, since the last answer to one of them. */
export interface OwnCircuit {
  failures: number;
  /** Set while the provider is skipped: when it may be tried again, in ms. */
  trialAtMs?: number;
}

/** The health of one provider account for all calls, as this process sees it. */
export interface Circuit extends Pick<OwnCircuit, 'trialAtMs'> {
  /** The calls with the last failed or rejected requests since the last success, each once, newest last. */
  faults?: readonly (CircuitCall & { type: 'failed' | 'rejected' })[];
}

/** A call as far as the health of providers is concerned. */
export interface CircuitCall {
  callId: string;
  accountId: string;
}

export type CircuitEvent = { type: 'tried' | 'succeeded'; atMs: number } | CircuitFault;

/** A request of a call failed or got no answer, or was rejected because of its content. */
interface CircuitFault {
  type: 'failed' | 'rejected';
  atMs: number;
  by: CircuitCall;
}

export const CLOSED_CIRCUIT: Circuit = {};

/** Whether the provider must be skipped now. */
export function isOpen({ trialAtMs }: Pick<OwnCircuit, 'trialAtMs'>, atMs: number): boolean {
  return trialAtMs !== undefined && atMs < trialAtMs;
}

/** Returns the health of a provider for the calls of one account after another failure of one of them. */
export function afterOwnFailure(circuit: OwnCircuit, atMs: number): OwnCircuit {
  const failures = circuit.failures + 1;
  const stays = failures < FAILURES_TO_OPEN && circuit.trialAtMs === undefined;
  return { ...circuit, failures, ...(stays ? {} : { trialAtMs: atMs + SKIPPED_FOR_MS }) };
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
    case 'failed':
    case 'rejected':
      return afterFault(circuit, event);
  }
}

/**
 * A rejected request usually says something about its call only, such as a prompt that is too long. So may an error of the
 * server, a broken connection or no answer, which some content causes, and too many requests, which may be those of one
 * account. If it happens to one call after the other, it is the provider or its settings, whatever the status. One account
 * cannot cause that: the last of these calls must belong to different accounts, also when it happens in a trial, so that a
 * circuit which two accounts have opened closes when only one of them continues. On a service with one account, a rejection
 * is therefore never counted; its calls try the first provider and then the next one.
 */
function afterFault({ trialAtMs, faults = [] }: Circuit, { type, by, atMs }: CircuitFault): Circuit {
  const isTrialRejected = trialAtMs !== undefined && type === 'rejected';
  // A provider that rejects a trial has responded, so its failures are over.
  const earlier = faults.filter((fault) => fault.callId !== by.callId && !(isTrialRejected && fault.type === 'failed'));
  const calls = [...earlier, { ...by, type }].slice(-CALLS_TO_OPEN);
  const isOfProvider = calls.length === CALLS_TO_OPEN && new Set(calls.map(({ accountId }) => accountId)).size > 1;
  if (isOfProvider) return { faults: calls, trialAtMs: atMs + SKIPPED_FOR_MS };
  // After a trial that failed, the next call may try.
  return trialAtMs === undefined || isTrialRejected
    ? { faults: calls }
    : { faults: calls, trialAtMs: Math.min(trialAtMs, atMs) };
}
