import { parseArgs } from 'node:util';

export interface BenchOptions {
  /** The names of the rows to run. */
  rows: string[];
  rounds: number;
  /** The file for the JSON; absent: one in the folder of results. */
  json?: string;
  /** Whether to take CPU profiles instead of measuring rows. */
  profile: boolean;
}

/** The number of rounds from which a median and a spread mean something. */
const FEWEST_ROUNDS = 3;
const MOST_ROUNDS = 20;

/** @throws Error with one sentence for the first argument that is wrong */
export function parseBenchArguments(args: readonly string[], known: readonly string[]): BenchOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string', multiple: true },
      rounds: { type: 'string', default: String(FEWEST_ROUNDS) },
      json: { type: 'string' },
      profile: { type: 'boolean', default: false },
    },
  });
  const { only = [...known], json, profile } = values;
  const unknown = only.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new Error(`--only ${unknown}: unknown row; the rows are ${known.join(', ')}.`);
  const rounds = Number(values.rounds);
  if (!Number.isInteger(rounds) || rounds < FEWEST_ROUNDS || rounds > MOST_ROUNDS) {
    throw new Error(`--rounds must be a whole number from ${FEWEST_ROUNDS} to ${MOST_ROUNDS}.`);
  }
  return {
    rows: known.filter((name) => only.includes(name)),
    rounds,
    profile,
    ...(json === undefined ? {} : { json }),
  };
}
