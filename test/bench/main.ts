import { execFileSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { cpus, loadavg, totalmem } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { packageRoot } from '../../src/dev/servers/cache-folder.js';
import { parseBenchArguments, type BenchOptions } from './report/options.js';
import { profileRoles } from './profile.js';
import { tableOf } from './report/table.js';
import { ROWS } from './rows/rows.js';
import type { Row, RowContext, RowResult } from './rows/row.js';
import { scaleRows, STAGE_NAMES } from './scale/stages/stages.js';
import { startBenchServers, type BenchServers } from './stack/servers.js';

/** A row on a busy machine takes a few minutes. A row that takes longer hangs. */
const ROW_WITHIN_MS = 900_000;
const RESULTS_FOLDER = join(packageRoot(), '.bench');
/** With this many processes waiting per core, times say little. */
const BUSY_LOAD = 0.5;

/**
 * Runs the benchmark of docs/testing.md.
 * @returns the exit code: 1 if a row could not be measured. A limit that is missed is reported, not an error.
 */
async function main(args: readonly string[]): Promise<number> {
  const options = parseBenchArguments(args, { rows: ROWS.map(({ name }) => name), scale: STAGE_NAMES });
  const say = (line: string) => void process.stderr.write(`bench: ${line}\n`);
  const [load = 0] = loadavg();
  if (load > BUSY_LOAD * cpus().length)
    say(`the machine is busy (load ${load.toFixed(1)}): compare ratios and counts only`);
  const servers = await startBenchServers(process.env, options.temporal);
  const stopped = stopOnSignals(servers);
  try {
    const context: RowContext = { servers, rounds: options.rounds, say };
    if (options.profile) return await takeProfiles(servers, say);
    return await measureRows(options, context, load);
  } finally {
    stopped.forget();
    await servers.stop();
  }
}

async function measureRows(options: BenchOptions, context: RowContext, load: number): Promise<number> {
  const { rows, rounds, json, scale, temporal } = options;
  const known: readonly Row[] = scale === undefined ? ROWS : scaleRows(scale);
  const results: Record<string, RowResult> = {};
  const failures: string[] = [];
  for (const row of known.filter(({ name }) => rows.includes(name))) {
    try {
      results[row.name] = await bounded(row.name, () => row.run(context), row.withinMs);
    } catch (error) {
      failures.push(`${row.name}: ${error instanceof Error ? error.message : String(error)}`);
      context.say(`FAILED ${failures.at(-1)}`);
    }
  }
  const figures = Object.values(results).flatMap((result) => result.figures);
  const notes = Object.values(results).flatMap((result) => result.notes ?? []);
  const file = resolve(json ?? join(RESULTS_FOLDER, `${new Date().toISOString().replaceAll(':', '-')}.json`));
  await mkdir(dirname(file), { recursive: true });
  const run = { machine: describeMachine(load, context), rounds, ...(scale && { scale, temporal }), results, failures };
  await writeFile(file, `${JSON.stringify(run, null, 2)}\n`);
  process.stdout.write(`\n${tableOf(figures)}\n\n${notes.map((line) => `${line}\n`).join('')}`);
  const how = scale === undefined ? `Median of ${rounds} rounds or more (lowest–highest). ` : '';
  process.stdout.write(`\n${how}JSON: ${file}\n`);
  for (const failure of failures) process.stdout.write(`Not measured: ${failure}\n`);
  return failures.length === 0 ? 0 : 1;
}

async function takeProfiles(servers: BenchServers, say: RowContext['say']): Promise<number> {
  const folder = join(RESULTS_FOLDER, `profiles-${new Date().toISOString().replaceAll(':', '-')}`);
  const lines = await bounded('profiles', () => profileRoles({ servers, folder, say }));
  process.stdout.write(`${lines.join('\n')}\n\nProfiles: ${folder} (open them in the developer tools of Chromium)\n`);
  return 0;
}

/** @throws Error when the work does not end in time. Its processes end with the benchmark. */
async function bounded<T>(name: string, work: () => Promise<T>, withinMs = ROW_WITHIN_MS): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`${name}: not done within ${Math.ceil(withinMs / 60_000)} minutes`)),
      withinMs,
    );
  });
  try {
    return await Promise.race([work(), late]);
  } finally {
    clearTimeout(timer);
  }
}

function describeMachine(load: number, { servers }: RowContext) {
  const commit = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: packageRoot(), encoding: 'utf8' }).trim();
  const [cpu] = cpus();
  return {
    at: new Date().toISOString(),
    commit,
    node: process.version,
    cpu: cpu?.model.trim(),
    cores: cpus().length,
    gigabytes: Math.round(totalmem() / 1_073_741_824),
    servers: servers.described,
    loadBefore: load,
  };
}

/** Stops the servers on Ctrl-C. The watchdog of the servers ends the other processes when this one has ended. */
function stopOnSignals(servers: BenchServers): { forget: () => void } {
  const stop = () => void servers.stop().finally(() => process.exit(1));
  const signals = ['SIGINT', 'SIGTERM'] as const;
  for (const signal of signals) process.once(signal, stop);
  return { forget: () => signals.forEach((signal) => process.off(signal, stop)) };
}

main(process.argv.slice(2)).then(
  (code) => process.exit(code),
  (error: unknown) => {
    process.stderr.write(`bench: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  },
);
