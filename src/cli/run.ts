import type { Writable } from 'node:stream';
import { CommanderError, type Command } from 'commander';
import { ServiceError } from '../kernel/errors.js';
import { jsonText, printable } from './terminal.js';

export const EXIT_OK = 0;
/** The command was rejected or failed, or a check found a problem. */
export const EXIT_FAILURE = 1;
/** Invalid command line or input. */
export const EXIT_USAGE = 2;
/** The service does not respond or is temporarily unavailable; retrying later may help. */
export const EXIT_UNAVAILABLE = 3;
/** The API key was rejected. */
export const EXIT_UNAUTHORIZED = 4;

/** The parts of the process that the command line uses. */
export interface CliProcess extends Pick<NodeJS.Process, 'argv' | 'env'> {
  stdout: Writable & { isTTY?: boolean };
  stderr: Writable;
}

/** A failure that the user can act on. The message is one sentence and is shown without a stack trace. */
export class CliError extends Error {
  override readonly name = 'CliError';

  constructor(
    message: string,
    readonly exitCode: number = EXIT_FAILURE,
    /** The error object to show with --json, if it contains more than the message. */
    readonly errorObject?: object,
  ) {
    super(message);
  }
}

/** Whether the user requests JSON output. Works even if the command line cannot be parsed. */
export function wantsJson(process: Pick<CliProcess, 'argv'>): boolean {
  return process.argv.includes('--json');
}

/**
 * Runs one command line and returns its exit code. Every failure becomes one line on stderr; with `--json` an error
 * object.
 */
export async function runProgram(program: Command, process: CliProcess): Promise<number> {
  try {
    await program.parseAsync(process.argv);
    return EXIT_OK;
  } catch (error) {
    const { exitCode, message, errorObject } = failureOf(error);
    if (wantsJson(process)) {
      if (exitCode !== EXIT_OK) process.stderr.write(`${jsonText(errorObject)}\n`);
    } else if (!(error instanceof CommanderError)) process.stderr.write(`error: ${printable(message)}\n`);
    return exitCode;
  }
}

interface Failure {
  exitCode: number;
  message: string;
  errorObject: object;
}

function failureOf(error: unknown): Failure {
  // Commander has already printed its message or help.
  if (error instanceof CommanderError) {
    const exitCode = error.exitCode === 0 ? EXIT_OK : EXIT_USAGE;
    const isHelp = error.message === '(outputHelp)';
    return failure(exitCode, isHelp ? 'A command is required.' : error.message.replace(/^error: /, ''));
  }
  if (error instanceof ServiceError) {
    const { code, message, details } = error;
    const exitCode = code === 'MISSING_PARAMS' ? EXIT_USAGE : EXIT_FAILURE;
    return failure(exitCode, message, { success: false, message, error_code: code, ...details });
  }
  const exitCode = error instanceof CliError ? error.exitCode : EXIT_FAILURE;
  const errorObject = error instanceof CliError ? error.errorObject : undefined;
  return failure(exitCode, error instanceof Error ? error.message : String(error), errorObject);
}

function failure(exitCode: number, message: string, errorObject?: object): Failure {
  const code = exitCode === EXIT_USAGE ? 'MISSING_PARAMS' : 'INTERNAL_ERROR';
  return { exitCode, message, errorObject: errorObject ?? { success: false, message, error_code: code } };
}
