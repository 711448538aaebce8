import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

export interface MeasuredProcess {
  /** Sends a message and gives back the next one that comes. */
  ask<T>(message: unknown): Promise<T>;
  stop(): Promise<void>;
}

const canPin = spawnSync('taskset', ['-c', '0', 'true']).status === 0;

/**
 * Keeps running processes to some cores where the machine can: what is in the field on other machines must not take the
 * core that is measured.
 * @param cores as `taskset` lists them, such as 1 or 0-3
 */
export function keepToCores(cores: string, pids: readonly string[]): void {
  if (!canPin) return;
  for (const pid of pids) spawnSync('taskset', ['--all-tasks', '--cpu-list', '--pid', cores, pid]);
}

/**
 * A TypeScript program of the bench in a process of its own, on one core where the machine can pin it there.
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
