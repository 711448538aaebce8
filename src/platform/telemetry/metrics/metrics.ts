import { collectDefaultMetrics, Registry } from 'prom-client';
import { VERSION } from '../../../kernel/version.js';
import type { Logger } from '../logger.js';
import { observe, type MeasurementName } from '../measurements.js';
import { createGauge } from './instruments.js';
import { RECORDERS } from './recorders.js';

/**
 * The delay of the event loop is sampled this often, in ms; prom-client's values include it. Samples every 10 ms, its default,
 * cost 0.3 % of a core. Stalls have another metric.
 */
export const LOOP_SAMPLE_MS = 50;

export interface Metrics {
  registry: Registry;
  /** Stops observing the process's measurements. */
  close(): void;
}

/**
 * Creates the metrics of this process: its measurements from now on, those of Node.js (memory, CPU, event loop) and the
 * role with its version.
 */
export function createMetrics({ role, logger }: { role: string; logger: Logger }): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LOOP_SAMPLE_MS });
  createGauge(registry, { name: 'build_info', help: 'The role and its version', labels: ['role', 'version'] }).set(
    { role, version: VERSION },
    1,
  );
  const forgets = (Object.keys(RECORDERS) as MeasurementName[]).map((name) => observeInto(registry, name, logger));
  return {
    registry,
    close: () => {
      for (const forget of forgets) forget();
      registry.clear();
    },
  };
}

/** An error of a recorder, such as that of a value that is not a number, must not end the process. */
function observeInto<Name extends MeasurementName>(registry: Registry, name: Name, logger: Logger): () => void {
  const record = RECORDERS[name](registry);
  return observe(name, (measurement) => {
    try {
      record(measurement);
    } catch (error) {
      logger.error({ measurement: name, err: error }, 'measurement not recorded');
    }
  });
}
