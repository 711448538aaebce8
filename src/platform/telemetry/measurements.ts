import { channel, type ChannelListener } from 'node:diagnostics_channel';
import type { CallStatus, Direction, EndReason } from '../../kernel/call-state.js';
import type { Mode } from '../../kernel/ids.js';

/**
 * Reports of parts of the service about their work, by name. Every text is one of few values, because metrics have a
 * series for each: never an id, an address, a phone number or a text of a customer.
 */
export interface Measurements {
  httpRequest: { method: string; route: string; status: number; seconds: number };
  callBegun: { mode: Mode; direction: Direction };
  /** The carrier has taken a call, so its phone is about to ring. `seconds`: since the call was accepted. */
  callDialed: { mode: Mode; seconds: number };
  callEnded: { mode: Mode; direction: Direction; status: CallStatus; endReason: EndReason | 'none' };
  /** A media stream that began (1) or ended (-1). */
  mediaStream: { change: 1 | -1 };
  /** How late frames of audio are sent. */
  frameLateness: { ms: number };
  /** A call lost its media stream, or it is moved to another process, and asked for the next stream. */
  nextStream: { cause: 'planned' | 'failure'; decision: string };
  /** From the end of the person's words to the first audio of the reply; `parts` divide the total. */
  replyLatency: { engine: string; totalMs: number; parts: Readonly<Record<string, number>> };
  providerFailure: { part: string; provider: string };
  /** Another provider of a stage takes over, because the one before failed, or failed in earlier calls. */
  providerSwitch: { stage: string; cause: 'failed' | 'skipped' };
  webhookAttempt: { outcome: string; seconds: number };
  /** `seconds`: from the end of the call until its webhook is ready to be sent. */
  webhookReady: { seconds: number };
  carrierRequest: { carrier: string; operation: string; outcome: string; seconds: number };
  databaseCommand: { command: string; outcome: 'ok' | 'failed'; seconds: number };
  /** A change of a connection pool: connections that are open, or in use. */
  databaseConnections: { state: 'open' | 'in_use'; change: 1 | -1 };
  /** An optimistic update that met other writers. `name`: what was updated, such as `leases`. */
  contention: { name: string; retries: number; gaveUp: boolean };
  /** A time for which the process blocked its event loop. */
  stall: { ms: number };
  /** Spans of traces that the collector did not take, or that found the queue full. */
  spansDropped: { cause: 'not_sent' | 'queue_full'; count: number };
  reconciliationFinding: { kind: string };
  brokenRecords: { count: number };
  recordingsDeleted: { count: number };
  /** A request to the object storage of recordings. `missing`: there is no such object. */
  objectRequest: { operation: string; outcome: 'ok' | 'missing' | 'failed'; seconds: number };
}

export type MeasurementName = keyof Measurements;

const channelOf = (name: MeasurementName) => channel(`callwright:${name}`);

/** Reports to the observers in this process, if any. Costs little without one. */
export function report<Name extends MeasurementName>(name: Name, measurement: Measurements[Name]): void {
  channelOf(name).publish(measurement);
}

/** Whether a measurement has an observer. Ask before work that only an observer needs. */
export function isObserved(name: MeasurementName): boolean {
  return channelOf(name).hasSubscribers;
}

/** Observes a measurement in this process. @returns a function that ends this */
export function observe<Name extends MeasurementName>(
  name: Name,
  listener: (measurement: Measurements[Name]) => void,
): () => void {
  const onMessage: ChannelListener = (message) => listener(message as Measurements[Name]);
  const observed = channelOf(name);
  observed.subscribe(onMessage);
  return () => {
    observed.unsubscribe(onMessage);
  };
}
