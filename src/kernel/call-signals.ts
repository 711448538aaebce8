import type {
  AnsweredBy,
  CarrierFinalStatus,
  Direction,
  EndReason,
  FinalStatus,
  MediaEndReason,
} from './call-state.js';
import type { Mode } from './ids.js';

/** Names and payloads of everything that reaches a running CallWorkflow. No phone number and no spoken word is in any. */
export const CALL_WORKFLOW_TYPE = 'CallWorkflow';
export const CARRIER_SIGNAL = 'carrier';
export const MEDIA_SIGNAL = 'media';
export const HANG_UP_SIGNAL = 'hangUp';
/** Update that reports how the workflow's own reservation went. */
export const RESERVED_UPDATE = 'reserved';
export const RESERVED_UPDATE_ID = 'reserved';
/** Update that asks whether a call whose stream is gone gets another one. */
export const RECONNECT_UPDATE = 'reconnect';
export const DETAILS_QUERY = 'details';

export interface CarrierSignal {
  carrierSid: string;
  kind: 'answered' | 'ended';
  /** The carrier's own time of the event, ms since the epoch. */
  at: number;
  status?: CarrierFinalStatus;
  durationSeconds?: number;
  sipCode?: number;
  answeredBy?: AnsweredBy;
}

export interface MediaSignal {
  /** `stored`: what `ended` said was on its way can be read now. */
  kind: 'started' | 'ended' | 'stored';
  at: number;
  carrierSid: string;
  reason?: MediaEndReason;
  agentAudioPlayed?: boolean;
  /** False when the conversation's result or its recording is still on its way to the database; absent: both can be read. */
  resultStored?: false;
}

/** The carrier goes on after a stream of which nobody said that it is over. Times in ms. */
export interface ReconnectRequest {
  carrierSid: string;
  at: number;
  /** When the call's first stream started, where a media server has noted it. */
  startedAt?: number;
  agentAudioPlayed: boolean;
}

export interface HangUpSignal {
  cause: Extract<EndReason, 'api_hangup' | 'operator_cancel'>;
}

/** How the reservation went: the money and the place are taken, or why not. */
export type ReservationAnswer =
  | { outcome: 'granted' }
  | { outcome: 'expired' }
  | { outcome: 'refused'; code: 'INSUFFICIENT_BALANCE' | 'SPEND_LIMIT_EXCEEDED' | 'ACCOUNT_FROZEN' }
  | { outcome: 'refused'; code: 'CONCURRENCY_LIMIT_EXCEEDED'; limit: number; current: number };

/** Input of the CallWorkflow: ids, times and numbers of seconds; everything personal stays in `call_requests`. */
export interface CallInput {
  callId: string;
  accountId: string;
  mode: Mode;
  direction: Direction;
  agentId: string;
  ringTimeoutSeconds: number;
  maxDurationSeconds: number;
  /** The reservation must be decided this soon after the start, or nothing is dialed. */
  answerWithinMs: number;
  /** Whether a completion webhook is owed. */
  notify: boolean;
  /** Inbound: the carrier's call, known from the start. */
  carrierSid?: string;
  /** The carrier takes so many calls per second and no more: the call waits for its turn to be dialed. */
  paced?: boolean;
  /** Sizes of the hold windows in seconds, where they differ from the standard ones. */
  windows?: readonly number[];
}

/** What a CallWorkflow returns: seen by operators, and by a client that asks for a call whose run has closed. */
export interface CallResult {
  reservation: ReservationAnswer;
  status?: FinalStatus;
  endReason?: EndReason;
  billedSeconds?: number;
}

export type CallWorkflowFunction = (input: CallInput) => Promise<CallResult>;
