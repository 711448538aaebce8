import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { MeasurementName, Measurements } from '../measurements.js';

/** Creates the metrics of a measurement. Returns the function that records one. */
export type Recorder<Name extends MeasurementName> = (registry: Registry) => (measurement: Measurements[Name]) => void;

interface Instrument {
  /** Without the prefix `callwright_`, in base units; counters end in `_total`. */
  name: string;
  help: string;
  labels?: readonly string[];
  /** Called before the metric is read. */
  collect?: () => Promise<void> | void;
}

/** Creates metrics named by the rules of Prometheus: https://prometheus.io/docs/practices/naming/ */
export const createCounter = (registry: Registry, instrument: Instrument) =>
  new Counter(settingsOf(registry, instrument));

export const createGauge = (registry: Registry, instrument: Instrument) => new Gauge(settingsOf(registry, instrument));

/** @param instrument.buckets upper bounds, in the unit of the name */
export const createHistogram = (registry: Registry, instrument: Instrument & { buckets: readonly number[] }) =>
  new Histogram({ ...settingsOf(registry, instrument), buckets: [...instrument.buckets] });

function settingsOf(registry: Registry, { name, help, labels = [], collect }: Instrument) {
  const settings = { name: `callwright_${name}`, help, labelNames: [...labels], registers: [registry] };
  return collect === undefined ? settings : { ...settings, collect };
}
