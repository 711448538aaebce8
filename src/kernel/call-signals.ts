import type {
  AnsweredBy,
  CarrierFinalStatus,
  Direction,
  EndReason,
  FinalStatus,
  MediaEndReason,
} from './call-state.js';
import type { Mode } from './ids.js';

/** Signals, updates and queries of a running CallWorkflow. No payload contains a phone number or spoken text. */
export const CALL_WORKFLOW_TYPE = 'CallWorkflow';
export const CARRIER_SIGNAL = 'carrier';
export const MEDIA_SIGNAL = 'media';
export const HANG_UP_SIGNAL = 'hangUp';
/** Update that returns the result of the workflow's reservation. */
export const RESERVED_UPDATE = 'reserved';
export const RESERVED_UPDATE_ID = 'reserved';
/** Update that asks whether a call that lost its media stream may reconnect. */
export const RECONNECT_UPDATE = 'reconnect';
export const DETAILS_QUERY = 'details';

export interface CarrierSignal {
  carrierSid: string;
  kind: 'answered' | 'ended';
  /** The carrier's time of the event, ms since the epoch. */
  at: number;
  status?: CarrierFinalStatus;
  durationSeconds?: number;
  sipCode?: number;
  answeredBy?: AnsweredBy;
}

export interface MediaSignal {
  /**
   * `stored`: the result and recording that were pending at `ended` are now in the database. `given_up`: the carrier was
   * told to end the call because of a fault of ours; `reason` is for workers of an earlier release, which read it as `ended`.
   */
  kind: 'started' | 'ended' | 'stored' | 'given_up';
  at: number;
  carrierSid: string;
  reason?: MediaEndReason;
  agentAudioPlayed?: boolean;
  /** False while the session's result or recording is still being stored; absent when both can be read. */
  resultStored?: false;
}

/** Sent when the carrier continues a call after a media stream without a reported end. Times in ms since the epoch. */
export interface ReconnectRequest {
  carrierSid: string;
  at: number;
  /** Start of the call's first media stream, if a media server recorded it. */
  startedAt?: number;
  /** True when no media server accepted the stream, so that it never started. */
  neverStarted?: true;
  agentAudioPlayed: boolean;
}

export interface HangUpSignal {
  /** `expired`: the request for the call got a 503, so the call ends as soon as it can and is not billed. */
  cause: Extract<EndReason, 'api_hangup' | 'operator_cancel' | 'expired'>;
}

/** Result of the reservation of money and a concurrency slot. */
export type ReservationAnswer =
  | { outcome: 'granted' }
  | { outcome: 'expired' }
  | { outcome: 'refused'; code: 'INSUFFICIENT_BALANCE' | 'SPEND_LIMIT_EXCEEDED' | 'ACCOUNT_FROZEN' }
  | { outcome: 'refused'; code: 'CONCURRENCY_LIMIT_EXCEEDED'; limit: number; current: number };

/** Input of the CallWorkflow. Personal data is not part of it; it stays in `call_requests`. */
export interface CallInput {
  callId: string;
  accountId: string;
  mode: Mode;
  direction: Direction;
  agentId: string;
  ringTimeoutSeconds: number;
  maxDurationSeconds: number;
  /** Time limit for the reservation, counted from the workflow's start; after it, the call is not dialed. */
  answerWithinMs: number;
  /**
   * Time by which the reservation is decided, ms since the epoch by the database server's clock, which all processes share:
   * the start may take long to arrive. Absent in calls started by earlier releases.
   */
  decideBy?: number;
  /** Whether to send a completion webhook. */
  notify: boolean;
  /** The carrier's call id. Inbound calls have it from the start. */
  carrierSid?: string;
  /** True when the carrier limits calls per second, so that the call waits for a dial slot. */
  paced?: boolean;
  /** Hold window sizes in seconds, if they differ from the default ones. */
  windows?: readonly number[];
}

/** Result of a CallWorkflow, for operators and for clients that query a call whose run has closed. */
export interface CallResult {
  reservation: ReservationAnswer;
  status?: FinalStatus;
  endReason?: EndReason;
  billedSeconds?: number;
}

export type CallWorkflowFunction = (input: CallInput) => Promise<CallResult>;
