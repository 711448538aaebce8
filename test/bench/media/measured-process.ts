import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

export interface MeasuredProcess {
  /** Sends a message and returns the next message of the process. */
  ask<T>(message: unknown): Promise<T>;
  stop(): Promise<void>;
}

const canPin = spawnSync('taskset', ['-c', '0', 'true']).status === 0;

/**
 * Restricts running processes to some cores, if the machine supports it: servers that normally run on other machines
 * must not use the measured core.
 */
export function keepToCores(cores: string, pids: readonly string[]): void {
  if (!canPin) return;
  for (const pid of pids) spawnSync('taskset', ['--all-tasks', '--cpu-list', '--pid', cores, pid]);
}

/**
 * Starts a TypeScript program of the benchmark as a separate process, on one core if the machine supports it.
 * @returns the process and its first message
 */
export async function startMeasured<T>(
  program: string,
  options: { core: number; env?: NodeJS.ProcessEnv },
): Promise<{ process: MeasuredProcess; first: T }> {
  const node = [process.execPath, '--expose-gc', '--require', require.resolve('tsx/cjs'), join(__dirname, program)];
  const [command = '', ...args] = canPin ? ['taskset', '-c', String(options.core), ...node] : node;
  const child = spawn(command, args, {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, ...options.env },
  });
  const measured: MeasuredProcess = {
    async ask(message) {
      const answer = nextMessage(child);
      child.send(message as string);
      return (await answer) as never;
    },
    async stop() {
      if (child.exitCode !== null) return;
      const exited = once(child, 'exit');
      child.disconnect();
      await exited;
    },
  };
  return { process: measured, first: (await nextMessage(child)) as T };
}

async function nextMessage(child: ChildProcess): Promise<unknown> {
  const gone = new AbortController();
  const exited = () => gone.abort(new Error('the process ended'));
  child.once('exit', exited);
  try {
    const [message] = await once(child, 'message', { signal: gone.signal });
    return message;
  } finally {
    child.off('exit', exited);
  }
}
