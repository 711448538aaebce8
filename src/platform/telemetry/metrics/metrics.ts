import { collectDefaultMetrics, Registry } from 'prom-client';
import { VERSION } from '../../../kernel/version.js';
import { observe, type MeasurementName } from '../measurements.js';
import { createGauge } from './instruments.js';
import { RECORDERS } from './recorders.js';

export interface Metrics {
  registry: Registry;
  /** Stops to observe the process's measurements. */
  close(): void;
}

/**
 * Creates the metrics of this process: its measurements from now on, those of Node.js (memory, CPU, event loop) and the
 * role with its version.
 */
export function createMetrics(role: string): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  createGauge(registry, { name: 'build_info', help: 'The role and its version', labels: ['role', 'version'] }).set(
    { role, version: VERSION },
    1,
  );
  const forgets = (Object.keys(RECORDERS) as MeasurementName[]).map((name) => observeInto(registry, name));
  return {
    registry,
    close: () => {
      for (const forget of forgets) forget();
      registry.clear();
    },
  };
}

function observeInto<Name extends MeasurementName>(registry: Registry, name: Name): () => void {
  return observe(name, RECORDERS[name](registry));
}
