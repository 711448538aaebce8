import type { AnsweredBy, CarrierFinalStatus, Direction, EndReason } from '../kernel/call-state.js';
import type { Mode } from '../kernel/ids.js';
import type { MachineDetection } from '../kernel/voicemail.js';

/** A call as the carrier's own record tells it. */
export interface CarrierCall {
  carrierSid: string;
  direction?: Direction;
  /** The called number, as the carrier writes it. */
  to?: string;
  /** The number that forwarded an inbound call. */
  forwardedFrom?: string;
  status: 'queued' | 'ringing' | 'in-progress' | CarrierFinalStatus;
  /** Times in ms since the epoch; absent while the carrier has none. */
  createdAt?: number;
  startedAt?: number;
  endedAt?: number;
  durationSeconds?: number;
  answeredBy?: AnsweredBy;
}

/**
 * What came of asking for a call. `ambiguous` means that a call may exist: it must never be asked for again, only looked
 * for. `throttled` and `unreachable` prove that none exists, so asking again is safe.
 */
export type DialOutcome =
  | { outcome: 'accepted'; carrierSid: string }
  | { outcome: 'refused'; endReason: EndReason }
  | { outcome: 'throttled' }
  | { outcome: 'unreachable' }
  | { outcome: 'ambiguous' };

export interface DialRequest {
  callId: string;
  to: string;
  from: string;
  ringTimeoutSeconds: number;
  /** The carrier ends the call after this many seconds even if all our processes are dead. */
  timeLimitSeconds: number;
  /** The carrier listens who answers, and tells while the call goes on. */
  machineDetection?: MachineDetection;
}

/**
 * One carrier account, as the rest of the service sees it. Orders and questions throw when the carrier is away, and
 * a `CarrierRequestRefused`, with nothing sent, when the identifier is not one of this carrier's.
 */
export interface Carrier {
  /** Whether a text has the form of this carrier's identifiers of calls. */
  isCallId(text: string): boolean;
  /** Asks for a call once. Never throws: the outcome says what is known. Takes at most 10 s. */
  dial(request: DialRequest): Promise<DialOutcome>;
  /** Ends a call, ringing or talking. A call that has ended already is a success. */
  hangUp(carrierSid: string): Promise<void>;
  /** Moves the carrier's own end of the call. A call that has ended already is a success. */
  limitTo(carrierSid: string, seconds: number): Promise<void>;
  /** The carrier's record; undefined when it knows no such call. */
  fetch(carrierSid: string): Promise<CarrierCall | undefined>;
  /** Calls placed between two numbers since a moment, queued ones included, newest first. */
  findPlaced(query: { to: string; from: string; since: number }): Promise<CarrierCall[]>;
}

/** The carrier of each mode: test keys always have the simulated one. */
export type Carriers = Record<Mode, Carrier>;
