import { parseArgs } from 'node:util';
import type { ScaleOptions } from '../scale/stages/stage.js';
import type { TemporalKind } from '../stack/servers.js';

export interface BenchOptions {
  /** The names of the rows to run. */
  rows: string[];
  rounds: number;
  /** The file for the JSON; absent: one in the folder of results. */
  json?: string;
  /** Whether to take CPU profiles instead of measuring rows. */
  profile: boolean;
  /** Absent: the run measures rows, not the behavior with many calls. */
  scale?: ScaleOptions;
  /** Absent: Temporal's development server. */
  temporal?: TemporalKind;
}

/** The names that `--only` accepts. */
export interface KnownRows {
  rows: readonly string[];
  scale: readonly string[];
}

/** The number of rounds from which a median and a spread mean something. */
const FEWEST_ROUNDS = 3;
const MOST_ROUNDS = 20;
/** With fewer calls, the memory of the process itself hides that of the calls. */
const FEWEST_CALLS = 100;
const MOST_CALLS = 100_000;
const DEFAULT_CALLS = 10_000;
const MOST_MINUTES = 1_440;
const DEFAULT_MINUTES = 20;
const SCALE_ONLY = ['calls', 'minutes', 'temporal'] as const;

/** @throws Error with one sentence for the first argument that is wrong */
export function parseBenchArguments(args: readonly string[], known: KnownRows): BenchOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string', multiple: true },
      rounds: { type: 'string', default: String(FEWEST_ROUNDS) },
      json: { type: 'string' },
      profile: { type: 'boolean', default: false },
      scale: { type: 'boolean', default: false },
      calls: { type: 'string' },
      minutes: { type: 'string' },
      temporal: { type: 'string' },
    },
  });
  const names = values.scale ? known.scale : known.rows;
  const { only = [...names], json, profile } = values;
  const unknown = only.find((name) => !names.includes(name));
  if (unknown !== undefined) throw new Error(`--only ${unknown}: unknown row; the rows are ${names.join(', ')}.`);
  const misplaced = SCALE_ONLY.find((name) => !values.scale && values[name] !== undefined);
  if (misplaced !== undefined) throw new Error(`--${misplaced} needs --scale.`);
  if (values.scale && profile) throw new Error('--scale takes no profiles.');
  const rounds = wholeNumber('rounds', values.rounds, FEWEST_ROUNDS, MOST_ROUNDS);
  return {
    rows: names.filter((name) => only.includes(name)),
    rounds,
    profile,
    ...(json === undefined ? {} : { json }),
    ...(values.scale ? { scale: scaleOptions(values), temporal: temporalKind(values.temporal) } : {}),
  };
}

function scaleOptions({ calls, minutes }: { calls?: string; minutes?: string }): ScaleOptions {
  return {
    calls: wholeNumber('calls', calls ?? String(DEFAULT_CALLS), FEWEST_CALLS, MOST_CALLS),
    minutes: wholeNumber('minutes', minutes ?? String(DEFAULT_MINUTES), 1, MOST_MINUTES),
  };
}

function temporalKind(text = 'development'): TemporalKind {
  if (text === 'development' || text === 'server') return text;
  throw new Error('--temporal must be development or server.');
}

function wholeNumber(name: string, text: string, from: number, to: number): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= from && value <= to) return value;
  const count = (limit: number) => limit.toLocaleString('en-US');
  throw new Error(`--${name} must be a whole number from ${count(from)} to ${count(to)}.`);
}
