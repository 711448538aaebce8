import { parseArgs } from 'node:util';
import { MUTANTS } from './mutants.js';
import { simulate } from './world.js';

/**
 * `npm run simulate -- --seeds 1000000` runs that many schedules and stops at the first violation. `--seed 4711`
 * repeats one schedule and prints its every step. `--from` sets the first seed. `--mutant <name>` removes one
 * precaution.
 */
async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      seeds: { type: 'string', default: '10000' },
      from: { type: 'string', default: '1' },
      seed: { type: 'string' },
      mutant: { type: 'string' },
    },
  });
  const mutant = values.mutant === undefined ? undefined : MUTANTS[values.mutant];
  if (values.mutant !== undefined && !mutant) {
    throw new Error(`there is no such mutant; there are:\n${Object.keys(MUTANTS).join('\n')}`);
  }
  const options = mutant ? { mutant } : {};
  if (values.seed !== undefined) return replay(wholeNumber(values.seed), options);
  return search(wholeNumber(values.from), wholeNumber(values.seeds), options);
}

async function replay(seed: number, options: object): Promise<number> {
  const { trace, violations, steps } = await simulate(seed, { ...options, traced: true });
  for (const line of trace) print(line);
  for (const violation of violations) print(`violation: ${violation}`);
  print(`seed ${seed}: ${steps} steps, ${violations.length} violations`);
  return violations.length === 0 ? 0 : 1;
}

async function search(from: number, seeds: number, options: object): Promise<number> {
  const startedAt = performance.now();
  let steps = 0;
  for (let done = 1; done <= seeds; done++) {
    const seed = from + done - 1;
    const outcome = await simulate(seed, options);
    steps += outcome.steps;
    if (outcome.violations.length > 0) {
      for (const violation of outcome.violations) print(`violation: ${violation}`);
      print(`seed ${seed} breaks a rule; run it again with --seed ${seed}`);
      return 1;
    }
    if (done % 10_000 === 0 || done === seeds) {
      const seconds = (performance.now() - startedAt) / 1_000;
      print(`${done} seeds, ${steps} steps, ${seconds.toFixed(1)} s, no violation`);
    }
  }
  return 0;
}

function wholeNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new Error(`${text} is not a whole number`);
  return Number(text);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

main().then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    process.stderr.write(`${String(error)}\n`);
    process.exitCode = 2;
  },
);
