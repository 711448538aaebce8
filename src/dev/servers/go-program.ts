import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { runCommand, type Report } from '../processes/run-command.js';
import { buildOnce } from './build-once.js';
import { cacheFolder } from './cache-folder.js';
import { requireOnPath } from './executables.js';

export interface GoProgram {
  /** The name of the program in the cache. */
  label: string;
  /** The name of the executable that `go install` makes. */
  name: string;
  version: string;
  /** The module with the path of the program. */
  module: string;
  /** The name in messages. */
  what: string;
  /** How long a build takes, such as "usually 3 minutes on first run". */
  usually: string;
  /** Advice for a machine without Go. */
  advice: string;
  /** Time limit of the build, in ms. */
  timeoutMs: number;
  /** Flags and variables of the build. */
  flags?: readonly string[];
  variables?: NodeJS.ProcessEnv;
}

/** Where the executable of a program is once it is built. */
export function goProgramPath({ label, name, version }: GoProgram, env: NodeJS.ProcessEnv): string {
  return join(cacheFolder(env), `${label}-${version}`, name);
}

/**
 * Builds a program from a Go module into the cache of built servers, once.
 * @returns the path of the executable
 * @throws Error that says what to install when Go is missing
 */
export async function buildGoProgram(
  program: GoProgram,
  { env, report, signal }: { env: NodeJS.ProcessEnv; report: Report; signal?: AbortSignal | undefined },
): Promise<string> {
  const { name, version, module, what, usually, flags = [], variables } = program;
  const built = goProgramPath(program, env);
  await buildOnce({
    folder: join(built, '..'),
    what,
    report,
    signal,
    build: async (made) => {
      await runCommand({
        what: `building ${what}`,
        usually,
        file: await requireOnPath('go', env, program.advice),
        args: ['install', ...flags, `${module}@v${version}`],
        cwd: made,
        env: { ...env, GOBIN: join(made, 'bin'), ...variables },
        timeoutMs: program.timeoutMs,
        report,
        signal,
      });
      await rename(join(made, 'bin', name), join(made, name));
    },
  });
  return built;
}
