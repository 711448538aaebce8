import type { Latency } from '../../../../../calls/views/schemas.js';

/** The stages of a response in their order, and what no stage accounts for. */
export const STAGES = ['pause', 'stt', 'llm', 'tts', 'own', 'other'] as const;
export type Stage = (typeof STAGES)[number];

/** One column of the chart. */
export interface Column {
  /** Number of the response in the call, from 1. */
  number: number;
  atMs: number;
  totalMs: number;
  /** The stages that took time, in order, each from where the one before ended. */
  parts: { stage: Stage; fromMs: number; ms: number }[];
}

/** Returns the columns of a chart of latencies. The rest of the total that no stage explains is shown as `other`. */
export function columnsOf(latencies: readonly Latency[]): Column[] {
  return latencies.map(({ at_ms: atMs, total_ms: totalMs, stages }, index) => {
    const known = STAGES.map((stage) => ({ stage, ms: stages.find((each) => each.stage === stage)?.ms ?? 0 }));
    const rest = totalMs - known.reduce((sum, { ms }) => sum + ms, 0);
    let end = 0;
    const parts = [...known, { stage: 'other' as const, ms: rest }]
      .filter(({ ms }) => ms > 0)
      .map(({ stage, ms }) => {
        end += ms;
        return { stage, ms, fromMs: end - ms };
      });
    return { number: index + 1, atMs, totalMs, parts };
  });
}

/** Returns the value below which this share of the values lies; undefined without values. */
export function quantile(values: readonly number[], share: number): number | undefined {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)];
}

/** Formats milliseconds: 740 becomes `740 ms`, 1240 becomes `1.24 s`. */
export function milliseconds(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(2)} s`;
}

/** Formats milliseconds with one decimal of a second, and short times, which would become `0.0 s`, as milliseconds. */
export function roundedTime(ms: number): string {
  return ms < 100 ? milliseconds(ms) : `${(ms / 1_000).toFixed(1)} s`;
}

/** Formats a value of a time axis in the unit of its largest value: `500 ms`, or `0.5 s` if the axis ends at `1.5 s`. */
export function axisTime(ms: number, most: number): string {
  if (most < 1_000) return `${ms} ms`;
  // From 3 s on, the steps of an axis are whole seconds.
  return `${(ms / 1_000).toFixed(most < 3_000 ? 1 : 0)} s`;
}
