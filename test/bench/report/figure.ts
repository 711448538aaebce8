import { percentile } from '../figures.js';

/** The median of several rounds and their spread. */
export interface Summary {
  median: number;
  low: number;
  high: number;
  rounds: readonly number[];
}

/** The limit of a figure. It is a ratio to the baseline, or a count that does not depend on the machine. */
export interface Limit {
  of: 'ratio' | 'ours';
  atLeast?: number;
  atMost?: number;
}

export interface Figure {
  name: string;
  unit: string;
  bare?: Summary;
  ours: Summary;
  /** Ours divided by the baseline, round by round; absent without a baseline. */
  ratio?: Summary;
  limit?: Limit;
  /** Absent without a limit. */
  met?: boolean;
}

/** @throws Error without values */
export function summarize(rounds: readonly number[]): Summary {
  if (rounds.length === 0) throw new Error('a figure needs at least one round');
  return { median: median(rounds), low: Math.min(...rounds), high: Math.max(...rounds), rounds };
}

/** Returns the middle value, or the mean of the two middle values. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  const upper = sorted[Math.floor(middle)] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

/**
 * Compares rounds with the baseline's rounds, which ran in turn with them. The ratio is that of each pair of rounds, so
 * that other load on the machine affects both sides.
 */
export function figureOf(p: {
  name: string;
  unit: string;
  bare?: readonly number[];
  ours: readonly number[];
  limit?: Limit;
}): Figure {
  const { name, unit, bare, ours, limit } = p;
  const summary = summarize(ours);
  const ratio =
    bare === undefined ? undefined : summarize(ours.map((value, index) => value / (bare[index] ?? Number.NaN)));
  return {
    name,
    unit,
    ...(bare === undefined ? {} : { bare: summarize(bare) }),
    ours: summary,
    ...(ratio === undefined ? {} : { ratio }),
    ...(limit === undefined ? {} : { limit, met: isMet(limit, limit.of === 'ours' ? summary : ratio) }),
  };
}

function isMet({ atLeast = -Infinity, atMost = Infinity }: Limit, of: Summary | undefined): boolean {
  return of !== undefined && of.median >= atLeast && of.median <= atMost;
}

/** Returns the named percentile of each round. */
export function percentiles(rounds: readonly (readonly number[])[], percent: number): number[] {
  return rounds.map((samples) => percentile(samples, percent));
}
