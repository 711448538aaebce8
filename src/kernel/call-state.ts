export const CALL_STATUSES = ['IDLE', 'RINGING', 'IN_PROGRESS', 'COMPLETED', 'FAILED', 'CANCELLED'] as const;
export type CallStatus = (typeof CALL_STATUSES)[number];
export type FinalStatus = Extract<CallStatus, 'COMPLETED' | 'FAILED' | 'CANCELLED'>;

export function isFinalStatus(status: string): boolean {
  return status === 'COMPLETED' || status === 'FAILED' || status === 'CANCELLED';
}

/** Why a call ended, reported together with its status. The list is complete. */
export const END_REASONS = [
  'callee_hangup',
  'caller_hangup',
  'agent_hangup',
  'api_hangup',
  'operator_cancel',
  'busy',
  'no_answer',
  'rejected',
  'invalid_number',
  'carrier_failed',
  'carrier_unreachable',
  'voicemail',
  'max_duration',
  'silence',
  'balance_exhausted',
  'media_failed',
  'expired',
  'internal_error',
] as const;
export type EndReason = (typeof END_REASONS)[number];

export type AnsweredBy = 'human' | 'voicemail' | 'unknown';
export type Direction = 'outbound' | 'inbound';

/** Final statuses in the carrier's spelling. */
export type CarrierFinalStatus = 'completed' | 'busy' | 'failed' | 'no-answer' | 'canceled';

/** The carrier's status callback for the end of a call. */
export interface CarrierEnd {
  status: CarrierFinalStatus;
  /** Time of the end, ms since the epoch. */
  at: number;
  /** Talk time as the carrier counts it, in whole seconds. */
  durationSeconds?: number;
  sipCode?: number;
}

/**
 * Why the media stream ended, as reported by the media server. `carrier_stop`: the remote party hung up, or we ended
 * the call through the carrier's REST API. `transferred`: the call continues without the agent.
 */
export type MediaEndReason = 'carrier_stop' | 'agent_hangup' | 'silence' | 'voicemail' | 'media_failed' | 'transferred';

export interface MediaEnd {
  reason: MediaEndReason;
  at: number;
  /** Whether the remote party heard any agent audio. The carrier's marks prove it. */
  agentAudioPlayed: boolean;
}

/** How a call ended and how much of it is billed. Never changes once set. Times in ms since the epoch. */
export interface CallOutcome {
  status: FinalStatus;
  endReason: EndReason;
  endedAt: number;
  /** Whole seconds to bill, before the ledger caps them at the held amount. */
  billableSeconds: number;
  /** True when the carrier reported no duration, so that the seconds were computed from our timestamps. */
  estimated: boolean;
}

/**
 * Everything known about a call. Facts are only added, never changed, so the outcome does not depend on the order in
 * which carrier and media events arrive. Times in ms since the epoch.
 */
export interface CallState {
  readonly direction: Direction;
  readonly status: CallStatus;
  readonly carrierSid?: string;
  readonly dialedAt?: number;
  /**
   * The carrier's answer time, limited to the time between the dial and the arrival of the report. Until the carrier
   * reports one, the start of the media stream.
   */
  readonly answeredAt?: number;
  readonly answerSource?: 'carrier' | 'stream';
  /** When we learned of the answer from the carrier. */
  readonly answerReportedAt?: number;
  readonly answeredBy?: AnsweredBy;
  readonly mediaStartedAt?: number;
  readonly mediaEnd?: MediaEnd;
  /** Number of new media streams granted. It is also the number of the last stream. */
  readonly resumptions?: number;
  /** Number of new media streams granted because the previous stream never started. */
  readonly refusedStreams?: number;
  /** Number of new media streams granted because a media server closed the previous one when it stopped. */
  readonly plannedResumptions?: number;
  /** When we asked the carrier to end the call because of a failure on our side; see `givenUpAt` in `resumption.ts`. */
  readonly givenUpAt?: number;
  /** Number of the last stream before the call was given up; absent if no later stream can continue the call. */
  readonly givenUpAfter?: number;
  /** We never told the carrier what to do with the answered call, so it had no audio. */
  readonly isUninstructed?: true;
  /**
   * When the carrier first continued the call without its media stream before the agent was heard: the stream was lost,
   * or never started. Neither party of the call can cause that.
   */
  readonly lostUnheardAt?: number;
  /** The evidence of our failure counts even if a client or a limit ended the call; absent in runs of earlier releases. */
  readonly isFreeHoweverEnded?: true;
  readonly carrierEnd?: CarrierEnd;
  /** Why we asked the carrier to end the call. Later causes do not replace the first one. */
  readonly hangUpCause?: EndReason;
  readonly outcome?: CallOutcome;
}

export function newCall(direction: Direction): CallState {
  return { direction, status: 'IDLE' };
}

/**
 * Whether the agent transferred the remote party. The call is billed at its original price until the carrier reports
 * its end.
 */
export function isTransferred(state: CallState): boolean {
  return state.mediaEnd?.reason === 'transferred';
}

export function isFinal(state: CallState): boolean {
  return state.outcome !== undefined;
}
