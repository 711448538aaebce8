import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { findOnPath, isExecutable } from '../../src/dev/servers/executables.js';
import { buildGoProgram, goProgramPath, type GoProgram } from '../../src/dev/servers/go-program.js';

export const VALE_VERSION = '3.22.0';
const LINT_TIMEOUT_MS = 120_000;
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

/** A problem as Vale reports it. */
export interface Alert {
  /** The style and the rule, such as `Callwright.Terms`. */
  Check: string;
  Line: number;
  Message: string;
}

const VALE: GoProgram = {
  label: 'vale',
  name: 'vale',
  version: VALE_VERSION,
  module: 'github.com/vale-cli/vale/v3/cmd/vale',
  what: 'Vale',
  usually: 'usually 2 minutes',
  advice: 'Install Go 1.25 or later and a C compiler to build Vale.',
  timeoutMs: 540_000,
  flags: [`-ldflags=-s -w -X main.version=${VALE_VERSION}`],
  variables: { CGO_ENABLED: '1' },
};
const installedAt = (env: NodeJS.ProcessEnv) => goProgramPath(VALE, env);

/**
 * @returns the path of Vale in exactly this version, from the cache folder or PATH; undefined if this version is not
 *   installed
 */
export async function findVale(env: NodeJS.ProcessEnv): Promise<string | undefined> {
  if (await isExecutable(installedAt(env))) return installedAt(env);
  const onPath = await findOnPath('vale', env);
  if (onPath === undefined) return undefined;
  const { stdout } = await promisify(execFile)(onPath, ['--version'], { timeout: LINT_TIMEOUT_MS });
  return stdout.trim() === `vale version ${VALE_VERSION}` ? onPath : undefined;
}

/**
 * Builds Vale with `go install` into the cache folder, which is outside the repository.
 * @throws Error that says what to install when Go is missing
 */
export function installVale(env: NodeJS.ProcessEnv, report: (line: string) => void): Promise<string> {
  return buildGoProgram(VALE, { env, report });
}

/**
 * Lints files and folders without any network access.
 * @param paths files or folders, absolute or relative to `cwd`
 * @returns the problems of each file; paths have the form in which they were given
 */
export async function runVale(vale: string, cwd: string, paths: readonly string[]): Promise<Map<string, Alert[]>> {
  const args = ['--config=.vale.ini', '--no-global', '--no-exit', '--output=JSON', ...paths];
  const { stdout } = await promisify(execFile)(vale, args, {
    cwd,
    timeout: LINT_TIMEOUT_MS,
    maxBuffer: MAX_OUTPUT_BYTES,
  });
  return new Map(Object.entries(JSON.parse(stdout) as Record<string, Alert[]>));
}
