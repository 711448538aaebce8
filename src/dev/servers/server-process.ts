import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Link } from '../../platform/launcher-link.js';

/** A running process: one of our roles, linked by its IPC channel, or a third-party server. */
export interface ServerProcess extends Link {
  pid: number;
  /** Resolves with the cause when the process has exited, such as "code 1" or "signal SIGKILL". */
  exited: Promise<string>;
  isRunning(): boolean;
  /** Whether the process has sent a message over its IPC channel. A role sends one when it is ready. */
  hasReported(): boolean;
  /** The last lines of the process's output. */
  lastOutput(): string;
  /** Sends SIGTERM, then SIGKILL after `graceMs`. Resolves when the process has exited. */
  stop(graceMs?: number): Promise<void>;
  /** Sends SIGKILL. */
  kill(): void;
}

const KEPT_LINES = 5;

export interface ServerCommand {
  file: string;
  args: readonly string[];
  env: NodeJS.ProcessEnv;
  /**
   * Whether to open an IPC channel, for Node.js programs. Other programs have an open standard input instead, so that
   * they can exit when it closes.
   */
  ipc?: boolean;
  /** Called for each line of output. */
  onLine?: (line: string) => void;
}

/** @throws Error when the program cannot be executed */
export async function startProcess(command: ServerCommand): Promise<ServerProcess> {
  const child = spawn(command.file, command.args, {
    env: command.env,
    stdio: command.ipc ? ['ignore', 'pipe', 'pipe', 'ipc'] : ['pipe', 'pipe', 'pipe'],
    // Use a separate process group: Ctrl-C then stops only the launcher, which stops the processes in the right order.
    detached: true,
  });
  let reported = false;
  let lastLines: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    if (stream === null) continue;
    createInterface({ input: stream }).on('line', (line) => {
      lastLines = [...lastLines, line].slice(-KEPT_LINES);
      command.onLine?.(line);
    });
  }
  child.stdin?.on('error', () => undefined);
  child.on('message', () => (reported = true));
  const exited = new Promise<string>((resolve) => {
    child.once('exit', (code, signal) => resolve(signal === null ? `code ${code}` : `signal ${signal}`));
  });
  await once(child, 'spawn');
  const { pid } = child;
  if (pid === undefined) throw new Error(`${command.file} has no process id.`);
  const isRunning = () => child.exitCode === null && child.signalCode === null;
  return {
    pid,
    exited,
    isRunning,
    hasReported: () => reported,
    lastOutput: () => lastLines.join(' | ') || 'no output',
    async stop(graceMs = 3_000) {
      if (!isRunning()) return;
      child.kill('SIGTERM');
      const kill = setTimeout(() => child.kill('SIGKILL'), graceMs);
      await exited;
      clearTimeout(kill);
    },
    kill: () => void child.kill('SIGKILL'),
    send: (message) => void (child.connected && child.send(message, () => undefined)),
    onMessage(listener) {
      child.on('message', listener);
      return () => child.off('message', listener);
    },
  };
}

/**
 * Starts a process and waits until `probe` succeeds. A process that does not become ready is killed.
 * @throws Error with the last lines of its output when it exits, `timeoutMs` pass or `signal` is aborted
 */
export async function startReady(p: {
  name: string;
  command: ServerCommand;
  probe: (server: ServerProcess) => Promise<void>;
  timeoutMs: number;
  signal?: AbortSignal | undefined;
}): Promise<ServerProcess> {
  assertNotCancelled(p);
  const server = await startProcess(p.command);
  try {
    await untilReady(server, p);
    return server;
  } catch (error) {
    await server.stop(0);
    throw error;
  }
}

function assertNotCancelled({ name, signal }: Parameters<typeof startReady>[0]): void {
  if (signal?.aborted) throw new Error(`${name} did not become ready, because the start was cancelled.`);
}

async function untilReady(server: ServerProcess, p: Parameters<typeof startReady>[0]): Promise<void> {
  const deadline = Date.now() + p.timeoutMs;
  let fault: unknown;
  while (Date.now() < deadline) {
    assertNotCancelled(p);
    if (!server.isRunning()) {
      throw new Error(`${p.name} exited while starting (${await server.exited}): ${server.lastOutput()}`);
    }
    try {
      await p.probe(server);
      return;
    } catch (error) {
      fault = error;
      await sleep(50);
    }
  }
  const reason = fault instanceof Error ? fault.message : String(fault);
  throw new Error(`${p.name} was not ready within ${p.timeoutMs / 1_000} s (${reason}): ${server.lastOutput()}`);
}

/** Resolves when a process listens on the port; rejects otherwise. */
export async function probePort(port: number, host = '127.0.0.1'): Promise<void> {
  const socket = connect({ port, host });
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(1_000) });
  } finally {
    socket.destroy();
  }
}
