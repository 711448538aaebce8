import type { DialGate } from '../../telephony/destinations/dial-gate.js';
import type { EngineCost } from '../../telephony/destinations/engine-costs.js';
import type { Logger } from '../../platform/telemetry/logger.js';
import { estimateCostMicros } from '../engines/engine-usage.js';
import type { Engine, EngineUsage } from '../engines/port.js';

/** Interval of reports, in ms. If the process is killed, at most this much of the cost is not counted. */
const REPORT_EVERY_MS = 30_000;

export type CostReports = ReturnType<typeof createCostReports>;

/** Counts the cost of a stream's engine against its account, while the stream continues and when it ends. */
export function createCostReports(deps: {
  engineCosts: Pick<DialGate, 'addEngineCost'>;
  engine: Engine;
  stream: Omit<EngineCost, 'micros' | 'countedMicros'>;
  /** Set only by tests. */
  everyMs?: number;
  logger: Logger;
}) {
  const { engineCosts, engine, stream, everyMs = REPORT_EVERY_MS, logger } = deps;
  let nextAtMs = everyMs;
  let countedMicros = 0;
  let reporting: Promise<void> = Promise.resolve();

  async function report(usage: EngineUsage): Promise<void> {
    const micros = estimateCostMicros(usage);
    if (micros <= countedMicros) return;
    try {
      await engineCosts.addEngineCost({ ...stream, micros, countedMicros });
      countedMicros = micros;
    } catch (error) {
      logger.error({ callId: stream.callId, err: error }, 'engine cost not counted');
    }
  }

  function reportNext(usage: EngineUsage | undefined): void {
    // One after the other, because each report builds on the one before.
    if (usage !== undefined) reporting = reporting.then(() => report(usage));
  }

  return {
    /** Reports the cost if it is time to. Call it often. @param atMs time in ms since the start of the stream */
    tick(atMs: number): void {
      if (atMs < nextAtMs) return;
      nextAtMs = atMs + everyMs;
      reportNext(engine.usage?.());
    },

    /** Reports the whole cost. @param usage from the engine's result; absent if there is none */
    finish: (usage: EngineUsage | undefined): void => reportNext(usage ?? engine.usage?.()),
  };
}
