import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { createProgram } from '../../../../src/cli/program.js';
import { runProgram } from '../../../../src/cli/run.js';

const PROGRAM = join(__dirname, '../../../../dist/src/cli/main.js');

export interface CliResult {
  code: number;
  stdout: string;
  stderr: string;
}

/**
 * Runs the compiled `callwright` in a separate process with this environment. Of the test's own environment, the
 * process gets only PATH.
 */
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

/**
 * Runs an operator command. If `cwd` is given, the command runs in a separate process; otherwise it runs in this one,
 * because starting a process for each command would take a minute in all.
 */
export async function runAdmin(args: readonly string[], env: NodeJS.ProcessEnv, cwd?: string): Promise<CliResult> {
  if (cwd !== undefined) return runCli(['admin', ...args], env, { cwd });
  const stdout = collectOutput();
  const stderr = collectOutput();
  const cli = { argv: [process.execPath, 'callwright', 'admin', ...args], env, stdout, stderr };
  const code = await runProgram(createProgram(cli), cli);
  return { code, stdout: stdout.text(), stderr: stderr.text() };
}

function collectOutput() {
  const pieces: string[] = [];
  const stream = new Writable({
    write(piece: Buffer, _encoding, done) {
      pieces.push(piece.toString());
      done();
    },
  });
  return Object.assign(stream, { text: () => pieces.join('') });
}

/** Starts a long-running command. Returns functions for the output so far and for the end of the command. */
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
    /** Interrupts the command as Ctrl-C does. */
    interrupt: () => child.kill('SIGINT'),
    /** Kills the command, to clean up after a failed test. */
    kill: () => child.kill('SIGKILL'),
  };
}
