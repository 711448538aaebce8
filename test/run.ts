import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { constants, setPriority, tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { ignoreEngineSettings } from './support/engine-environment.js';
import setUp from './support/global-setup.js';
import tearDown from './support/global-teardown.js';

interface Lane {
  projects: readonly string[];
  workers: number;
  priority: number;
}

/**
 * Groups of test projects that run in parallel. Tests of real-time calls mostly wait, so two workers for them leave
 * most of a CPU core free. These tests fail if they have to wait for the core, so all other groups have a lower
 * priority.
 */
const LANES: Record<string, Lane> = {
  realtime: { projects: ['realtime'], workers: 2, priority: constants.priority.PRIORITY_NORMAL },
  rest: { projects: ['unit', 'servers', 'e2e'], workers: 2, priority: constants.priority.PRIORITY_BELOW_NORMAL },
};

interface Report {
  testResults: { name: string; status: string; assertionResults: { status: string }[] }[];
}

/**
 * Runs the test suite. All tests share servers, which are started once.
 * @param args further arguments for jest, such as `--testPathPatterns leases`; `--reports=FOLDER` keeps jest's reports
 * @returns the exit code: 0 if every test passed, otherwise 1
 * @throws if the run cannot be completed; the exit code is then 2
 */
async function main(args: readonly string[]): Promise<number> {
  const began = Date.now();
  const kept = args.find((arg) => arg.startsWith('--reports='))?.slice('--reports='.length);
  const folder = kept ?? (await mkdtemp(join(tmpdir(), 'callwright-reports-')));
  const rest = args.filter((arg) => !arg.startsWith('--reports='));
  ignoreEngineSettings(process.env);
  await setUp();
  try {
    const names = Object.keys(LANES);
    const codes = await Promise.all(names.map((name) => run(LANES[name]!, join(folder, `${name}.json`), rest)));
    const failed = codes.filter((code) => code !== 0).length;
    const reports = await Promise.all(names.map((name) => reportOf(join(folder, `${name}.json`))));
    printSummary(
      reports.flatMap(({ testResults }) => testResults),
      Math.round((Date.now() - began) / 1_000),
    );
    return failed > 0 ? 1 : 0;
  } finally {
    await tearDown();
    if (kept === undefined) await rm(folder, { recursive: true, force: true });
  }
}

async function run({ projects, workers, priority }: Lane, report: string, args: readonly string[]): Promise<number> {
  const jest = [require.resolve('jest/bin/jest'), '--selectProjects', ...projects, `--maxWorkers=${workers}`];
  const sequencer = `--testSequencer=${require.resolve('./support/jest/long-files-first.cjs')}`;
  const child = spawn(
    process.execPath,
    [...jest, sequencer, '--passWithNoTests', '--json', `--outputFile=${report}`, ...args],
    {
      env: { ...process.env, ...(process.stdout.isTTY ? { FORCE_COLOR: '1' } : {}) },
      // Jest gets no terminal, because the status lines of the two runs would overwrite each other. Each run writes its
      // results to a file.
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  );
  if (child.pid !== undefined) setPriority(child.pid, priority);
  // Ends jest on a signal and waits for its exit, because the servers must be stopped after the tests.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => child.kill(signal));
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
