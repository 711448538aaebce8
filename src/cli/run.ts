import { CommanderError, type Command } from 'commander';
import { ServiceError } from '../domain/errors.js';

export const EXIT_OK = 0;
export const EXIT_FAILURE = 1;
export const EXIT_USAGE = 2;

/** What the command line touches of its process. */
export type CliProcess = Pick<NodeJS.Process, 'argv' | 'env' | 'stdout' | 'stderr'>;

/** A failure that a person can act on, in one sentence; shown without a stack. */
export class CliError extends Error {
  override readonly name = 'CliError';

  constructor(
    message: string,
    readonly exitCode: number = EXIT_FAILURE,
  ) {
    super(message);
  }
}

/** Runs one command line. Every failure becomes one line on stderr (an error object with `--json`) and an exit code. */
export async function runProgram(program: Command, process: CliProcess): Promise<number> {
  try {
    await program.parseAsync(process.argv);
    return EXIT_OK;
  } catch (error) {
    if (error instanceof CommanderError) return exitCodeOf(error);
    const { message, errorCode, exitCode } = failureOf(error);
    const asJson = program.opts<{ json?: boolean }>().json === true;
    const line = asJson ? JSON.stringify({ success: false, message, error_code: errorCode }) : `error: ${message}`;
    process.stderr.write(`${line}\n`);
    return exitCode;
  }
}

/** Commander has written its message or its help already. */
function exitCodeOf(error: CommanderError): number {
  return error.exitCode === 0 ? EXIT_OK : EXIT_USAGE;
}

function failureOf(error: unknown): { message: string; errorCode: string; exitCode: number } {
  if (error instanceof ServiceError) {
    const exitCode = error.code === 'MISSING_PARAMS' ? EXIT_USAGE : EXIT_FAILURE;
    return { message: error.message, errorCode: error.code, exitCode };
  }
  const exitCode = error instanceof CliError ? error.exitCode : EXIT_FAILURE;
  const errorCode = exitCode === EXIT_USAGE ? 'MISSING_PARAMS' : 'INTERNAL_ERROR';
  return { message: error instanceof Error ? error.message : String(error), errorCode, exitCode };
}
