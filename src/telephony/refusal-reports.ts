import type { Mode } from '../kernel/ids.js';
import type { Logger } from '../platform/telemetry/logger.js';
import type { CarrierEvents } from './carrier-events.js';
import type { DialOutcome } from './port.js';

/** Interval of log lines about the same cause. All calls fail for it, and one line is enough to remedy it. */
const LOG_EVERY_MS = 10 * 60_000;

export type RefusalReports = ReturnType<typeof createRefusalReports>;

/**
 * Reports dials that the carrier refused: each in its call's timeline, and those that only the operator can remedy in
 * the log, once in ten minutes per cause.
 */
export function createRefusalReports(deps: {
  carrierEvents: Pick<CarrierEvents, 'add'>;
  logger: Logger;
  now?: () => number;
}) {
  const { carrierEvents, logger, now = Date.now } = deps;
  const causes = new Map<string, { loggedAt: number; unlogged: number }>();

  function log(callId: string, mode: Mode, outcome: DialOutcome & { outcome: 'refused' | 'throttled' }): void {
    const { code, remedy } = outcome.refusal ?? {};
    if (code === undefined || remedy === undefined) return;
    const key = `${mode} ${code}`;
    const cause = causes.get(key);
    if (cause !== undefined && now() - cause.loggedAt < LOG_EVERY_MS) {
      cause.unlogged++;
      return;
    }
    causes.set(key, { loggedAt: now(), unlogged: 0 });
    const details = { callId, mode, carrierError: code, remedy, unlogged: cause?.unlogged ?? 0 };
    if (outcome.outcome === 'refused')
      logger.error(details, 'carrier refuses calls for a reason the operator must remove');
    else logger.warn(details, 'carrier delays calls for a reason the operator can remove');
  }

  return {
    /** Reports the outcome of a dial if the carrier refused it. Never rejects. */
    async report(callId: string, mode: Mode, outcome: DialOutcome): Promise<void> {
      if ((outcome.outcome !== 'refused' && outcome.outcome !== 'throttled') || outcome.refusal === undefined) return;
      log(callId, mode, outcome);
      const { code, remedy } = outcome.refusal;
      try {
        await carrierEvents.add({
          callId,
          status: outcome.outcome,
          errorCode: code,
          ...(remedy === undefined ? {} : { isOperatorFault: true }),
        });
      } catch (error) {
        logger.warn({ callId, err: error }, 'refused dial could not be stored for the timeline');
      }
    },
  };
}
