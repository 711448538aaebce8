import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { constants, setPriority, tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { ignoreEngineSettings } from './support/engine-environment.js';
import { findUnservedQueries } from './support/query-shapes/check-shapes.js';
import { recordQueries } from './support/query-shapes/preload.js';
import setUp from './support/global-setup.js';
import tearDown from './support/global-teardown.js';

/** Test projects that run together in one process of jest. */
interface Group {
  name: string;
  projects: readonly string[];
  /** Processes of jest. */
  workers: number;
  priority: number;
}

const REAL_TIME = constants.priority.PRIORITY_NORMAL;
const OTHERS = constants.priority.PRIORITY_BELOW_NORMAL;

/**
 * Stages run one after the other. The lanes of a stage run in parallel, the groups of a lane one after the other. All tests
 * mostly wait (docs/adr/0039), so there are more workers than CPU cores. Tests of real-time calls fail if they have to wait
 * for a core, so all other groups have a lower priority. The last stage needs the machine for itself.
 */
const STAGES: readonly (readonly (readonly Group[])[])[] = [
  [
    [
      { name: 'realtime', projects: ['realtime'], workers: 3, priority: REAL_TIME },
      { name: 'unit', projects: ['unit'], workers: 3, priority: OTHERS },
      { name: 'e2e', projects: ['e2e'], workers: 2, priority: OTHERS },
    ],
    [
      // With three workers, requests of tests waited for more than 20 s at times.
      { name: 'servers', projects: ['servers'], workers: 2, priority: OTHERS },
    ],
  ],
  [
    [
      { name: 'realtime-e2e', projects: ['realtime-e2e'], workers: 2, priority: REAL_TIME },
      { name: 'timing', projects: ['timing'], workers: 2, priority: REAL_TIME },
    ],
  ],
];

interface Report {
  testResults: { name: string; status: string; assertionResults: { status: string }[] }[];
}

/**
 * Runs the test suite. All tests share servers, which are started once. Afterwards, compares the queries that the tests
 * of the service have sent with the declared indexes.
 * @param args further arguments for jest, such as `--testPathPatterns leases`; `--reports=FOLDER` keeps jest's reports
 * @returns the exit code: 0 if every test passed and every query has an index, otherwise 1
 * @throws if the run cannot be completed; the exit code is then 2
 */
async function main(args: readonly string[]): Promise<number> {
  const began = Date.now();
  const kept = args.find((arg) => arg.startsWith('--reports='))?.slice('--reports='.length);
  const folder = kept ?? (await mkdtemp(join(tmpdir(), 'callwright-reports-')));
  const rest = args.filter((arg) => !arg.startsWith('--reports='));
  ignoreEngineSettings(process.env);
  const queries = join(folder, 'query-shapes.jsonl');
  await writeFile(queries, '');
  await recordQueries(process.env, queries);
  // Ends jest on a signal and waits for its exit, because the servers must be stopped after the tests.
  const interruption = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interruption.abort(signal));
  await setUp();
  try {
    const pathOf = ({ name }: Group) => join(folder, `${name}.json`);
    const codes: number[] = [];
    for (const lanes of STAGES) {
      const options = { pathOf, args: rest, interrupted: interruption.signal };
      codes.push(...(await Promise.all(lanes.map((lane) => runLane(lane, options)))).flat());
    }
    const failed = codes.filter((code) => code !== 0).length;
    const reports = await Promise.all(STAGES.flat(2).map((group) => reportOf(pathOf(group))));
    printSummary(
      reports.flatMap(({ testResults }) => testResults),
      Math.round((Date.now() - began) / 1_000),
    );
    // A part of the tests may send no queries.
    const unserved = rest.length > 0 && (await stat(queries)).size === 0 ? [] : await findUnservedQueries(queries);
    for (const query of unserved) process.stderr.write(`failed: no declared index serves the query "${query}"\n`);
    return failed + unserved.length > 0 ? 1 : 0;
  } finally {
    await tearDown();
    if (kept === undefined) await rm(folder, { recursive: true, force: true });
  }
}

interface RunOptions {
  /** Where jest writes the report of a group. */
  pathOf: (group: Group) => string;
  /** Further arguments for jest. */
  args: readonly string[];
  interrupted: AbortSignal;
}

async function runLane(lane: readonly Group[], options: RunOptions): Promise<number[]> {
  const codes: number[] = [];
  for (const group of lane) {
    if (options.interrupted.aborted) break;
    codes.push(await run(group, options));
  }
  return codes;
}

async function run(group: Group, { pathOf, args, interrupted }: RunOptions): Promise<number> {
  const workers = `--maxWorkers=${group.workers}`;
  const jest = [require.resolve('jest/bin/jest'), '--selectProjects', ...group.projects, workers];
  const sequencer = `--testSequencer=${require.resolve('./support/jest/long-files-first.cjs')}`;
  const child = spawn(
    process.execPath,
    [...jest, sequencer, '--passWithNoTests', '--json', `--outputFile=${pathOf(group)}`, ...args],
    {
      env: { ...process.env, ...(process.stdout.isTTY ? { FORCE_COLOR: '1' } : {}) },
      // Jest gets no terminal, because the status lines of parallel runs would overwrite each other. Each run writes its
      // results to a file.
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  );
  if (child.pid !== undefined) setPriority(child.pid, group.priority);
  interrupted.addEventListener('abort', () => child.kill(interrupted.reason as NodeJS.Signals), { once: true });
  child.stderr.pipe(process.stderr, { end: false });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}

async function reportOf(path: string): Promise<Report> {
  return JSON.parse(await readFile(path, 'utf8')) as Report;
}

function printSummary(files: Report['testResults'], seconds: number): void {
  const tests = files.flatMap(({ assertionResults }) => assertionResults);
  const count = (status: string) => tests.filter((test) => test.status === status).length;
  for (const { name } of files.filter(({ status }) => status === 'failed')) {
    process.stderr.write(`failed: ${relative(process.cwd(), name)}\n`);
  }
  process.stderr.write(`${count('passed')} tests passed, ${count('failed')} failed, after ${seconds} s\n`);
}

main(process.argv.slice(2)).then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 2;
  },
);
