import type { Mode } from '../kernel/ids.js';
import type { Logger } from '../platform/telemetry/logger.js';
import type { CarrierEvents } from './carrier-events.js';
import type { CarrierRejection, DialOutcome } from './port.js';

/** Interval of log lines about the same cause. All calls fail for it, and one line is enough to remedy it. */
const LOG_EVERY_MS = 10 * 60_000;

interface RejectedDial {
  callId: string;
  mode: Mode;
  /** Name of the carrier account. */
  account?: string | undefined;
}

export type RejectionReports = ReturnType<typeof createRejectionReports>;

/**
 * Reports dials that the carrier rejected: each in its call's timeline, and those of live calls that only the operator
 * can remedy in the log, once in ten minutes per account and cause. Anyone can script such a rejection of a test call, so it is not
 * the operator's concern.
 */
export function createRejectionReports(deps: {
  carrierEvents: Pick<CarrierEvents, 'add'>;
  logger: Logger;
  now?: () => number;
}) {
  const { carrierEvents, logger, now = Date.now } = deps;
  const causes = new Map<string, { loggedAt: number; unlogged: number }>();

  function log(
    { callId, account }: RejectedDial,
    outcome: 'refused' | 'throttled',
    { code, remedy }: CarrierRejection,
  ): void {
    const key = `${account ?? ''} ${code}`;
    const cause = causes.get(key);
    if (cause !== undefined && now() - cause.loggedAt < LOG_EVERY_MS) {
      cause.unlogged++;
      return;
    }
    causes.set(key, { loggedAt: now(), unlogged: 0 });
    const details = { callId, mode: 'live', account, carrierError: code, remedy, unlogged: cause?.unlogged ?? 0 };
    if (outcome === 'refused') logger.error(details, 'carrier rejects calls for a reason the operator must remove');
    else logger.warn(details, 'carrier delays calls for a reason the operator can remove');
  }

  return {
    /** Reports the outcome of a dial if the carrier rejected it. Ignores failures. */
    async report(dial: RejectedDial, outcome: DialOutcome): Promise<void> {
      const { callId, mode } = dial;
      if ((outcome.outcome !== 'refused' && outcome.outcome !== 'throttled') || outcome.rejection === undefined) return;
      const { code, reason, remedy } = outcome.rejection;
      const isOperatorFault = mode === 'live' && remedy !== undefined;
      if (isOperatorFault) log(dial, outcome.outcome, outcome.rejection);
      try {
        await carrierEvents.add({
          callId,
          status: outcome.outcome === 'refused' ? 'rejected' : 'throttled',
          errorCode: code,
          ...(reason === undefined ? {} : { reason }),
          ...(isOperatorFault ? { isOperatorFault } : {}),
        });
      } catch (error) {
        logger.warn({ callId, err: error }, 'rejected dial could not be stored for the timeline');
      }
    },
  };
}
