import type { AnsweredBy, CarrierEnd, EndReason, MediaEnd } from '../kernel/call-state.js';
import type { StreamLoss } from '../kernel/resumption.js';

/** Everything that can happen to a call. Times in ms since the epoch; `now` is the workflow's clock at arrival. */
export type CallEvent =
  /** The call has a concurrency slot and its first hold. */
  | { type: 'reserved'; now: number }
  | { type: 'dial_accepted'; carrierSid: string; now: number }
  /** No carrier call exists: the carrier rejected the call, or we stopped trying to place it. */
  | { type: 'dial_failed'; endReason: EndReason; now: number }
  | { type: 'carrier_answered'; carrierSid: string; at: number; now: number; answeredBy?: AnsweredBy }
  | { type: 'carrier_ended'; carrierSid: string; end: CarrierEnd; now: number; answeredBy?: AnsweredBy }
  | { type: 'media_started'; at: number; now: number }
  | { type: 'media_ended'; end: MediaEnd; now: number }
  /**
   * The media stream closed although no media server reported an end, and the carrier call continues.
   * `agentAudioPlayed` comes from the last checkpoint. `loss`: by default `lost`.
   * `provesFault`: the loss counts as evidence of a failure on our side; absent in runs of earlier releases.
   * `freesHoweverEnded`: likewise, even if an API client or a limit ends the call.
   */
  | {
      type: 'stream_lost';
      at: number;
      agentAudioPlayed: boolean;
      loss?: StreamLoss;
      provesFault?: true;
      freesHoweverEnded?: true;
      now: number;
    }
  /** The records show that we never told the carrier what to do with the answered call. */
  | { type: 'found_uninstructed'; freesHoweverEnded?: true; now: number }
  /** We told the carrier to end the call after this stream because of a failure on our side. No number: for good. */
  | { type: 'given_up'; at: number; after?: number; now: number }
  /** We want the call to end: a cancel request, a timer, or an exhausted balance. */
  | { type: 'hang_up_requested'; cause: EndReason; now: number }
  /** The carrier reported the end, and the wait for the media server's report timed out. */
  | { type: 'media_wait_over'; now: number }
  /** The carrier did not report an end before the last timeout. */
  | { type: 'carrier_lost'; now: number };

/** An action that the workflow performs after an event. */
export type CallEffect =
  /** Write the new status to the read model. */
  | { type: 'project' }
  /** Hang up the call at the carrier. */
  | { type: 'hang_up' }
  /** The outcome is decided: settle the call, then send the webhook. */
  | { type: 'finish' };
