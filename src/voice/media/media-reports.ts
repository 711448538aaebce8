import { setTimeout as sleep } from 'node:timers/promises';
import type { MediaSignals } from '../call-reader.js';
import type { MediaEnd } from '../../kernel/call-state.js';
import type { MediaSignal } from '../../kernel/call-signals.js';
import type { Logger } from '../../platform/telemetry/logger.js';

/**
 * How long a signal is retried while Temporal is unavailable. If the signal never arrives, the workflow reads the
 * stored result.
 */
const GIVE_UP_AFTER_MS = 60_000;
const LONGEST_PAUSE_MS = 5_000;

/** `known`: the workflow accepted the signal; `over`: the call has ended or is unknown; `lost`: retries timed out. */
export type ReportOutcome = 'known' | 'over' | 'lost';

export interface MediaReports {
  started(at: number): Promise<ReportOutcome>;
  /** Reports the end of the audio; always sent after `started`. */
  ended(end: MediaEnd & { resultStored: boolean }): Promise<ReportOutcome>;
  /** Reports that the result is stored, if `ended` was sent with `resultStored: false`. */
  stored(at: number): Promise<ReportOutcome>;
}

/** Signals stream events to the call's workflow, in order, with retries while Temporal is unavailable. Never throws. */
export function createMediaReports(deps: {
  gateway: MediaSignals;
  callId: string;
  streamId: string;
  carrierSid: string;
  logger: Logger;
}): MediaReports {
  const { gateway, callId, streamId, carrierSid, logger } = deps;
  let last: Promise<unknown> = Promise.resolve();

  async function deliver(signal: MediaSignal): Promise<ReportOutcome> {
    const giveUpAt = performance.now() + GIVE_UP_AFTER_MS;
    for (let pauseMs = 200; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
      try {
        const taken = await gateway.signalMedia(callId, signal, `${callId}:${streamId}:${signal.kind}`);
        return taken ? 'known' : 'over';
      } catch (error) {
        if (performance.now() + pauseMs > giveUpAt) {
          logger.error({ callId, kind: signal.kind, err: error }, 'media signal not delivered');
          return 'lost';
        }
      }
      await sleep(pauseMs);
    }
  }

  function inOrder(signal: MediaSignal): Promise<ReportOutcome> {
    const outcome = last.then(() => deliver(signal));
    last = outcome;
    return outcome;
  }

  return {
    started: (at) => inOrder({ kind: 'started', at, carrierSid }),
    ended({ at, reason, agentAudioPlayed, resultStored }) {
      const signal: MediaSignal = { kind: 'ended', at, carrierSid, reason, agentAudioPlayed };
      return inOrder(resultStored ? signal : { ...signal, resultStored: false });
    },
    stored: (at) => inOrder({ kind: 'stored', at, carrierSid }),
  };
}
