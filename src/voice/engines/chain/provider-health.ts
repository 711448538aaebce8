import {
  afterOwnFailure,
  CLOSED_CIRCUIT,
  isOpen,
  reduceCircuit,
  SKIPPED_FOR_MS,
  TRIAL_MS,
  type Circuit,
  type CircuitCall,
  type CircuitEvent,
  type OwnCircuit,
} from './circuit-breaker.js';

/** A part of a call that a provider serves. */
export type ProviderStage = 'stt' | 'llm' | 'tts' | 'realtime';

/** One configured account of a provider. */
export interface ProviderId {
  stage: ProviderStage;
  /** 1 for the first provider of its stage, 2 for the first alternative. */
  number: number;
}

export type ProviderHealth = ReturnType<typeof createProviderHealth>;

/** Maximum circuits of single accounts; the oldest are forgotten. */
const MAX_OWN_CIRCUITS = 1_000;

/** For requests outside of calls. */
const NO_CALL: CircuitCall = { callId: '', accountId: '' };

/**
 * Stores for all calls of a process which providers fail. The content of a call may cause a failure, so each account also
 * has circuits that its failures open for its calls only. So a provider that fails is left after two of them even if
 * all calls are of one account, which cannot move the calls of others.
 * @param now a monotonic clock in ms
 */
export function createProviderHealth(now: () => number = () => performance.now()) {
  const circuits = new Map<string, Circuit>();
  /** The circuits of single accounts since the last answer to each of them. */
  const own = new Map<string, OwnCircuit>();
  const keyOf = ({ stage, number }: ProviderId) => `${stage} ${number}`;
  const ownKeyOf = (id: ProviderId, { accountId }: CircuitCall) => `${keyOf(id)} ${accountId}`;
  const circuitOf = (id: ProviderId) => circuits.get(keyOf(id)) ?? CLOSED_CIRCUIT;

  function recordForAccount(id: ProviderId, type: CircuitEvent['type'], by: CircuitCall): void {
    const key = ownKeyOf(id, by);
    const { trialAtMs } = circuitOf(id);
    // Open if this is a trial for all calls.
    const circuit = own.get(key) ?? { failures: 0, ...(trialAtMs === undefined ? {} : { trialAtMs }) };
    const isTrial = type === 'tried' && circuit.trialAtMs !== undefined;
    if (type === 'succeeded' || type === 'rejected') own.delete(key);
    else if (type === 'failed' || isTrial) {
      own.delete(key);
      // While all calls skip the provider, the account has no other trial for so long, so that those of others can come in between.
      const pauseMs = trialAtMs === undefined ? TRIAL_MS : SKIPPED_FOR_MS;
      const next = { ...circuit, trialAtMs: Math.max(circuit.trialAtMs ?? 0, now() + pauseMs) };
      own.set(key, isTrial ? next : afterOwnFailure(circuit, now()));
      const [oldest] = own.keys();
      if (own.size > MAX_OWN_CIRCUITS && oldest !== undefined) own.delete(oldest);
    }
  }

  return {
    /** Whether the provider has failed so often that it must be skipped now. @param by the call that would use it */
    isOpen: (id: ProviderId, by = NO_CALL) =>
      isOpen(circuitOf(id), now()) || isOpen(own.get(ownKeyOf(id, by)) ?? CLOSED_CIRCUIT, now()),
    /**
     * Records that a request was sent, succeeded, failed or got no answer, or was rejected because of its content.
     * @param by its call
     */
    record(id: ProviderId, type: CircuitEvent['type'], by = NO_CALL): void {
      recordForAccount(id, type, by);
      // Requests outside of calls are made for an agent's voice and language, so their failures say nothing about others.
      const isOutside = by.accountId === NO_CALL.accountId && (type === 'failed' || type === 'rejected');
      if (isOutside) return;
      circuits.set(keyOf(id), reduceCircuit(circuitOf(id), { type, atMs: now(), by }));
    },
  };
}
