import type { AnsweredBy, CarrierEnd, EndReason, MediaEnd } from '../kernel/call-state.js';

/** Everything that can happen to a call. Times are ms since the epoch; `now` is the workflow's clock at arrival. */
export type CallEvent =
  /** The lease and the first hold are taken; the client may be told. */
  | { type: 'reserved'; now: number }
  | { type: 'dial_accepted'; carrierSid: string; now: number }
  /** The carrier, or our own give-up, says that no call came to be. */
  | { type: 'dial_failed'; endReason: EndReason; now: number }
  | { type: 'carrier_answered'; carrierSid: string; at: number; now: number; answeredBy?: AnsweredBy }
  | { type: 'carrier_ended'; carrierSid: string; end: CarrierEnd; now: number; answeredBy?: AnsweredBy }
  | { type: 'media_started'; at: number; now: number }
  | { type: 'media_ended'; end: MediaEnd; now: number }
  /**
   * The carrier has the call but its stream no more, and nobody said why; `agentAudioPlayed` as far as was checkpointed.
   * `neverStarted`: the stream was refused.
   */
  | { type: 'stream_lost'; at: number; agentAudioPlayed: boolean; neverStarted?: true; now: number }
  /** The carrier was told to end the call because of a fault of ours. */
  | { type: 'given_up'; at: number; now: number }
  /** We want the call to end: a cancel request, a timer, or money that ran out. */
  | { type: 'hang_up_requested'; cause: EndReason; now: number }
  /** The carrier says it is over and the media server had its time to say what it saw. */
  | { type: 'media_wait_over'; now: number }
  /** The carrier has told nothing by the call's last deadline. */
  | { type: 'carrier_lost'; now: number };

/** What the workflow must do because of an event. */
export type CallEffect =
  /** The status changed to one that people should see now. */
  | { type: 'project' }
  /** End the call at the carrier. */
  | { type: 'hang_up' }
  /** The outcome is decided: settle, then tell. */
  | { type: 'finish' };
