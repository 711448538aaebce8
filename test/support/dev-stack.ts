import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { packageRoot } from '../../src/dev/servers/cache-folder.js';
import { readRuntime, type Runtime } from '../../src/dev/runtime-file.js';
import { recordingEnvironment } from './query-shapes/recording-environment.js';

/** A process of `callwright dev` or another command, which a test has started from the build. */
export interface Launched {
  child: ChildProcess;
  dataFolder: string;
  /** Returns the output so far. */
  output(): string;
  /** Waits until runtime.json exists and `holds` returns true for its content. */
  runtime(holds?: (runtime: Runtime) => boolean): Promise<Runtime>;
  /** Resolves with the exit code, or with the signal that ended the process. */
  exited: Promise<number | string>;
  /** Returns the pids of the launcher and all its descendants, including orphaned ones. */
  processes(): Promise<number[]>;
  /**
   * Ends the launcher and every process that it has started. Removes the data folder, unless the test has provided it.
   */
  destroy(): Promise<void>;
}

const READY_WITHIN_MS = 120_000;

/** Creates a new data folder for one stack. */
export function newDataFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'callwright-test-data-'));
}

export async function launch(
  options: {
    command?: 'dev' | 'demo' | 'reset';
    dataFolder?: string;
    env?: NodeJS.ProcessEnv;
    args?: readonly string[];
  } = {},
): Promise<Launched> {
  const dataFolder = options.dataFolder ?? (await newDataFolder());
  const mark = randomUUID();
  const program = join(packageRoot(), 'dist/src/cli/main.js');
  const child = spawn(process.execPath, [program, options.command ?? 'dev', ...(options.args ?? [])], {
    env: {
      ...process.env,
      ...recordingEnvironment(),
      ...options.env,
      CALLWRIGHT_DATA_DIR: dataFolder,
      CALLWRIGHT_TEST_MARK: mark,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const exited = once(child, 'exit').then(([code, signal]) => (code ?? signal) as number | string);

  return {
    child,
    dataFolder,
    output: () => output,
    exited,
    async runtime(holds = () => true) {
      const deadline = Date.now() + READY_WITHIN_MS;
      while (Date.now() < deadline) {
        const runtime = await readRuntime(dataFolder);
        if (runtime !== undefined && holds(runtime)) return runtime;
        if (child.exitCode !== null || child.signalCode !== null) break;
        await sleep(50);
      }
      throw new Error(`The expected runtime.json did not come. The launcher wrote:\n${output}`);
    },
    processes: () => processesWith(mark),
    async destroy() {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill('SIGTERM');
        await Promise.race([exited, sleep(15_000, undefined, { ref: false })]);
        child.kill('SIGKILL');
      }
      for (const pid of await processesWith(mark)) process.kill(pid, 'SIGKILL');
      if (options.dataFolder === undefined) await rm(dataFolder, { recursive: true, force: true });
    },
  };
}

/** Finds processes by an environment variable that they inherited. Orphaned processes still have it. */
async function processesWith(mark: string): Promise<number[]> {
  const found: number[] = [];
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const environ = await readFile(`/proc/${name}/environ`, 'utf8').catch(() => '');
    if (environ.includes(`CALLWRIGHT_TEST_MARK=${mark}`)) found.push(Number(name));
  }
  return found;
}
