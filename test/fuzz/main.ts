import { parseArgs } from 'node:util';
import { fuzz } from './fuzz.js';

/**
 * `npm run fuzz` asks the real service as Schemathesis thinks of requests; `--seed 4711` with another seed,
 * `--examples 100` more or fewer of each operation, `--part key` only one part.
 */
async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string', default: '1' },
      examples: { type: 'string', default: '8' },
      part: { type: 'string', multiple: true },
    },
  });
  const stop = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort());
  return fuzz({
    seed: wholeNumber(values.seed),
    examples: wholeNumber(values.examples),
    only: values.part ?? [],
    signal: stop.signal,
  });
}

function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new Error(`${text} is not a whole number`);
  return Number(text);
}

main().then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    process.stderr.write(`fuzz: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  },
);
