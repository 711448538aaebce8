import { spawn } from 'node:child_process';

/** Prints one line for the user. */
export type Report = (line: string) => void;

const PROGRESS_EVERY_MS = 5_000;
const KEPT_OUTPUT = 4_000;

export interface CommandLine {
  /** The beginning of a progress message, such as "building Temporal". */
  what: string;
  /** The usual duration, appended to the progress message. */
  usually?: string;
  file: string;
  args: readonly string[];
  cwd: string;
  env: NodeJS.ProcessEnv;
  timeoutMs: number;
  report: Report;
  signal?: AbortSignal | undefined;
}

/**
 * Runs a long command to its end and reports progress every few seconds.
 * @returns its standard output
 * @throws Error with the last lines of its output, when it fails or takes longer than `timeoutMs`
 */
export async function runCommand(command: CommandLine): Promise<string> {
  const { what, usually, report } = command;
  const began = Date.now();
  const child = spawn(command.file, command.args, {
    cwd: command.cwd,
    env: command.env,
    stdio: ['ignore', 'pipe', 'pipe'],
    // Use a separate process group, so that compilers started by the command are killed together with it.
    detached: true,
  });
  let written = '';
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
    written = (written + chunk.toString()).slice(-KEPT_OUTPUT);
  });
  child.stderr.on('data', (chunk: Buffer) => (written = (written + chunk.toString()).slice(-KEPT_OUTPUT)));
  const seconds = () => Math.round((Date.now() - began) / 1_000);
  const progress = setInterval(
    () => report(`${what}, ${seconds()} s so far${usually === undefined ? '' : `, ${usually}`}`),
    PROGRESS_EVERY_MS,
  );
  const end = () => endGroup(child.pid);
  const deadline = setTimeout(end, command.timeoutMs);
  command.signal?.addEventListener('abort', end);
  if (command.signal?.aborted) end();
  process.once('exit', end);
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', resolve);
    });
    if (command.signal?.aborted) throw new Error(`${what} was stopped.`);
    if (code === null) throw new Error(`${what} was ended after ${seconds()} s.`);
    if (code !== 0) throw new Error(`${what} failed: ${lastLines(written)}`);
    return output;
  } finally {
    clearInterval(progress);
    clearTimeout(deadline);
    command.signal?.removeEventListener('abort', end);
    process.removeListener('exit', end);
  }
}

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

function lastLines(text: string): string {
  const lines = text.trim().split('\n');
  return lines.slice(-5).join(' | ') || 'no output';
}
