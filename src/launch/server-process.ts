import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** A running process of a server that is not ours. */
export interface ServerProcess {
  pid: number;
  /** Resolves when the process has ended, with how: "code 1", "signal SIGKILL". */
  exited: Promise<string>;
  isRunning(): boolean;
  /** The last lines it wrote. */
  lastOutput(): string;
  /** SIGTERM, then SIGKILL after `graceMs`. */
  stop(graceMs?: number): Promise<void>;
}

const KEPT_OUTPUT = 4_000;

export interface ServerCommand {
  file: string;
  args: readonly string[];
  env: NodeJS.ProcessEnv;
}

/** @throws Error when the program cannot be run at all */
export async function startProcess(command: ServerCommand): Promise<ServerProcess> {
  const child = spawn(command.file, command.args, {
    env: command.env,
    // An open standard input tells a server that can tell that its launcher lives.
    stdio: ['pipe', 'pipe', 'pipe'],
    // Not in the terminal's group: Ctrl-C is the launcher's to pass on, in its order.
    detached: true,
  });
  let output = '';
  const keep = (chunk: Buffer) => (output = (output + chunk.toString()).slice(-KEPT_OUTPUT));
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  child.stdin.on('error', () => undefined);
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
    lastOutput: () => output.trim().split('\n').slice(-5).join(' | '),
    async stop(graceMs = 3_000) {
      if (!isRunning()) return;
      child.kill('SIGTERM');
      const kill = setTimeout(() => child.kill('SIGKILL'), graceMs);
      await exited;
      clearTimeout(kill);
    },
  };
}

/**
 * Waits until `probe` succeeds.
 * @throws Error with what the server wrote last, when it ends or `timeoutMs` pass
 */
export async function untilReady(
  server: ServerProcess,
  name: string,
  probe: () => Promise<void>,
  options: { timeoutMs: number; signal?: AbortSignal | undefined },
): Promise<void> {
  const deadline = Date.now() + options.timeoutMs;
  let fault: unknown;
  while (Date.now() < deadline) {
    if (options.signal?.aborted) throw new Error(`Starting ${name} was stopped.`);
    if (!server.isRunning())
      throw new Error(`${name} ended at its start (${await server.exited}): ${server.lastOutput()}`);
    try {
      await probe();
      return;
    } catch (error) {
      fault = error;
      await sleep(50);
    }
  }
  const reason = fault instanceof Error ? fault.message : String(fault);
  throw new Error(`${name} was not ready within ${options.timeoutMs / 1_000} s (${reason}): ${server.lastOutput()}`);
}

/** Resolves when something listens on the port. */
export async function probePort(port: number): Promise<void> {
  const socket = connect({ port, host: '127.0.0.1' });
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(1_000) });
  } finally {
    socket.destroy();
  }
}
