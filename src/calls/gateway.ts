import type { CallInput, CarrierSignal, HangUpSignal, MediaSignal, ReservationAnswer } from '../domain/signals.js';

/** Thrown when Temporal is away or did not answer in time; the client may ask again. */
export class CallServiceUnavailable extends Error {
  override readonly name = 'CallServiceUnavailable';
}

/** The only way into a running call. */
export interface CallGateway {
  /**
   * Starts the call's workflow, or finds the run that exists, and tells how its reservation went.
   * @param deadline ms since the epoch by which an answer must be there
   * @throws CallServiceUnavailable
   */
  start(input: CallInput, deadline: number): Promise<ReservationAnswer>;
  /** Each signal returns false when the call is over or unknown. `requestId` lets Temporal drop a repeat. */
  signalCarrier(callId: string, signal: CarrierSignal, requestId: string): Promise<boolean>;
  signalMedia(callId: string, signal: MediaSignal, requestId: string): Promise<boolean>;
  hangUp(callId: string, signal: HangUpSignal): Promise<boolean>;
  /** @throws CallServiceUnavailable when Temporal does not answer */
  checkHealth(): Promise<void>;
  close(): Promise<void>;
}
