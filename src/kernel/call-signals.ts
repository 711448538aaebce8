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
  /** Time of the event by the carrier's clock, in ms since the epoch. */
  at: number;
  status?: CarrierFinalStatus;
  durationSeconds?: number;
  sipCode?: number;
  answeredBy?: AnsweredBy;
}

export interface MediaSignal {
  /**
   * `stored`: the result and recording that were pending at `ended` are now in the database. `given_up`: we asked the
   * carrier to end the call because of a failure on our side. A `given_up` signal also has a `reason`, because workers
   * of an earlier release treat it as `ended`.
   */
  kind: 'started' | 'ended' | 'stored' | 'given_up';
  at: number;
  carrierSid: string;
  /** With `given_up`: number of the last stream before it, -1 if there was none. Absent in signals of earlier releases. */
  after?: number;
  reason?: MediaEndReason;
  agentAudioPlayed?: boolean;
  /** False while the session's result or recording is still being stored. Absent when both can be read. */
  resultStored?: false;
}

/**
 * Sent when the carrier continues a call whose media stream closed without a reported end. Times in ms since the epoch.
 */
export interface ReconnectRequest {
  carrierSid: string;
  at: number;
  /** Start of the call's first media stream, if a media server recorded it. */
  startedAt?: number;
  /** True when no media server accepted the stream, so that it never started. */
  neverStarted?: true;
  /** True when the media server recorded that it would close the stream, because it stops. */
  planned?: true;
  agentAudioPlayed: boolean;
}

export interface HangUpSignal {
  /** `expired`: the request for the call received a 503, so the call must end as soon as possible and is not billed. */
  cause: Extract<EndReason, 'api_hangup' | 'operator_cancel' | 'expired'>;
}

/** Result of reserving money and a concurrency slot. */
export type ReservationResult =
  | { outcome: 'granted' }
  | { outcome: 'expired' }
  | { outcome: 'refused'; code: 'INSUFFICIENT_BALANCE' | 'SPEND_LIMIT_EXCEEDED' | 'ACCOUNT_FROZEN' }
  | { outcome: 'refused'; code: 'CONCURRENCY_LIMIT_EXCEEDED'; limit: number; current: number };

/** Input of the CallWorkflow. It contains no personal data, which is stored in `call_requests`. */
export interface CallInput {
  callId: string;
  accountId: string;
  mode: Mode;
  direction: Direction;
  ringTimeoutSeconds: number;
  maxDurationSeconds: number;
  /** Time limit for the reservation in ms, counted from the workflow's start. After that, the call is not dialed. */
  answerWithinMs: number;
  /**
   * Time by which the reservation must be decided, even if the workflow starts late. In ms since the epoch by the
   * database server's clock, which all processes share. Absent in calls started by earlier releases.
   */
  decideBy?: number;
  /**
   * Epoch of the ledger account, read before the call was stored, and so before any operation of the call. It saves the
   * ledger reads while the account still has it.
   */
  ledgerEpoch?: number;
  /** Whether to send a completion webhook. */
  notify: boolean;
  /** The carrier's call id. Only inbound calls have it from the start. */
  carrierSid?: string;
  /** The carrier's id of the account that has the call. Absent: the account `default`, or a call from a browser. */
  carrierAccountId?: string;
  /** How long to wait for the first media stream of an inbound call, if it differs from the default. */
  streamWithinMs?: number;
  /** True when the carrier limits calls per second. Then the call waits for a dial slot. */
  paced?: boolean;
  /** Hold window sizes in seconds, if they differ from the default ones. */
  windows?: readonly number[];
}

/** A call to start. The agent is only a search attribute, in which operators find it, because no step needs it. */
export interface CallStart extends CallInput {
  agentId: string;
}

/** Result of a CallWorkflow, for operators and for clients that query a call whose workflow has closed. */
export interface CallResult {
  reservation: ReservationResult;
  status?: FinalStatus;
  endReason?: EndReason;
  billedSeconds?: number;
}

export type CallWorkflowFunction = (input: CallInput) => Promise<CallResult>;
