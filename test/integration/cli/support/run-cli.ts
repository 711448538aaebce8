import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

const PROGRAM = join(__dirname, '../../../../dist/src/cli/main.js');

export interface CliResult {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs the compiled `callwright` in a process of its own, with this environment and nothing of ours but the path. */
export function runCli(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  { cwd, timeout = 60_000 }: { cwd?: string; timeout?: number } = {},
): Promise<CliResult> {
  if (!existsSync(PROGRAM)) throw new Error('The command line is not built: run "npm run build" first.');
  const { PATH } = process.env;
  return new Promise((resolve) => {
    const options = { env: { PATH, ...env }, timeout, ...(cwd === undefined ? {} : { cwd }) };
    execFile(process.execPath, [PROGRAM, ...args], options, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
      resolve({ code, stdout, stderr });
    });
  });
}

/** Runs a command of operators. */
export function runAdmin(args: readonly string[], env: NodeJS.ProcessEnv, cwd?: string): Promise<CliResult> {
  return runCli(['admin', ...args], env, cwd === undefined ? {} : { cwd });
}

/** A command that stays up: its output so far, and its end. */
export function startCli(args: readonly string[], env: NodeJS.ProcessEnv) {
  const { PATH } = process.env;
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    env: { PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const ended = once(child, 'close').then(([code]): CliResult => ({ code: Number(code ?? -1), stdout, stderr }));
  return {
    stdout: () => stdout,
    stderr: () => stderr,
    ended,
    /** As Ctrl-C does. */
    interrupt: () => child.kill('SIGINT'),
    /** For a test that failed. */
    kill: () => child.kill('SIGKILL'),
  };
}
