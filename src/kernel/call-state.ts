export const CALL_STATUSES = ['IDLE', 'RINGING', 'IN_PROGRESS', 'COMPLETED', 'FAILED', 'CANCELLED'] as const;
export type CallStatus = (typeof CALL_STATUSES)[number];
export type FinalStatus = Extract<CallStatus, 'COMPLETED' | 'FAILED' | 'CANCELLED'>;

/** Whether a call of this status has ended for good. */
export function isFinalStatus(status: string): boolean {
  return status === 'COMPLETED' || status === 'FAILED' || status === 'CANCELLED';
}

/** Why a call ended; a closed list, told beside the status. */
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

/** Terminal statuses as the carrier names them. */
export type CarrierFinalStatus = 'completed' | 'busy' | 'failed' | 'no-answer' | 'canceled';

/** What the carrier said when the call was over. */
export interface CarrierEnd {
  status: CarrierFinalStatus;
  /** When the call ended, ms since the epoch. */
  at: number;
  /** Whole seconds the carrier counts as talked. */
  durationSeconds?: number;
  sipCode?: number;
}

/**
 * Why the audio stream ended, as the media server saw it. `carrier_stop`: the other side hung up, or we did by REST.
 * `transferred`: the call goes on without us.
 */
export type MediaEndReason = 'carrier_stop' | 'agent_hangup' | 'silence' | 'voicemail' | 'media_failed' | 'transferred';

export interface MediaEnd {
  reason: MediaEndReason;
  at: number;
  /** Whether any agent audio was played to the far end, proven by the carrier's marks. */
  agentAudioPlayed: boolean;
}

/** How a call ended and what of it is billable. Set once; nothing changes it afterwards. */
export interface CallOutcome {
  status: FinalStatus;
  endReason: EndReason;
  endedAt: number;
  /** Whole seconds to bill, before the ledger caps them at what is held. */
  billableSeconds: number;
  /** True when the carrier gave no duration and the seconds come from our own timestamps. */
  estimated: boolean;
}

/**
 * Everything known about a call. Facts are only ever added, so that the outcome does not depend on the order in which
 * carrier and media events arrive.
 */
export interface CallState {
  readonly direction: Direction;
  readonly status: CallStatus;
  readonly carrierSid?: string;
  readonly dialedAt?: number;
  /** The carrier's own answer time, clamped to [dial, arrival]; the stream's start when the carrier has not said. */
  readonly answeredAt?: number;
  readonly answerSource?: 'carrier' | 'stream';
  readonly answeredBy?: AnsweredBy;
  readonly mediaStartedAt?: number;
  readonly mediaEnd?: MediaEnd;
  /** New streams the call was granted after it had lost one. */
  readonly resumptions?: number;
  readonly carrierEnd?: CarrierEnd;
  /** Why we asked the carrier to end the call; the first cause stays. */
  readonly hangUpCause?: EndReason;
  readonly outcome?: CallOutcome;
}

export function newCall(direction: Direction): CallState {
  return { direction, status: 'IDLE' };
}

/** The agent has put the far end through to somebody: people talk on, at our price, until the carrier says it is over. */
export function isTransferred(state: CallState): boolean {
  return state.mediaEnd?.reason === 'transferred';
}

export function isFinal(state: CallState): boolean {
  return state.outcome !== undefined;
}
