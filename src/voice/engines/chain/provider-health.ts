import {
  CLOSED_CIRCUIT,
  isOpen,
  reduceCircuit,
  type Circuit,
  type CircuitCall,
  type CircuitEvent,
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

/** Stores for all calls of a process which providers fail. @param now a monotonic clock in ms */
export function createProviderHealth(now: () => number = () => performance.now()) {
  const circuits = new Map<string, Circuit>();
  const keyOf = ({ stage, number }: ProviderId) => `${stage} ${number}`;
  const circuitOf = (id: ProviderId) => circuits.get(keyOf(id)) ?? CLOSED_CIRCUIT;

  return {
    /** Whether the provider has failed so often that it must be skipped now. */
    isOpen: (id: ProviderId) => isOpen(circuitOf(id), now()),
    /** Records that a request was sent, succeeded, failed, or was rejected because of its content. @param by its call */
    record(id: ProviderId, type: CircuitEvent['type'], by: CircuitCall = { callId: '', accountId: '' }): void {
      const event: CircuitEvent = type === 'rejected' ? { type, atMs: now(), by } : { type, atMs: now() };
      circuits.set(keyOf(id), reduceCircuit(circuitOf(id), event));
    },
  };
}
