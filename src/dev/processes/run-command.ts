import { spawn } from 'node:child_process';

/** Takes one line for the person who watches. */
export type Report = (line: string) => void;

const PROGRESS_EVERY_MS = 5_000;
const KEPT_OUTPUT = 4_000;

export interface CommandLine {
  /** What it does, as the beginning of a progress line: "building Temporal". */
  what: string;
  /** How long it takes as a rule, as the end of that line. */
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
 * Runs a long step to its end and reports every few seconds that it still runs.
 * @returns what it wrote to its standard output
 * @throws Error with the last lines it wrote, when it fails or takes longer than `timeoutMs`
 */
export async function runCommand(command: CommandLine): Promise<string> {
  const { what, usually, report } = command;
  const began = Date.now();
  const child = spawn(command.file, command.args, {
    cwd: command.cwd,
    env: command.env,
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own, so that compilers started by the command end with it.
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
  return lines.slice(-5).join(' | ') || 'it said nothing';
}
