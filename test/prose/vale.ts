import { execFile } from 'node:child_process';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { buildOnce } from '../../src/dev/servers/build-once.js';
import { cacheFolder } from '../../src/dev/servers/cache-folder.js';
import { findOnPath, isExecutable, requireOnPath } from '../../src/dev/servers/executables.js';
import { runCommand } from '../../src/dev/processes/run-command.js';

export const VALE_VERSION = '3.22.0';
const BUILD_TIMEOUT_MS = 540_000;
const LINT_TIMEOUT_MS = 120_000;
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

/** A problem as Vale reports it. */
export interface Alert {
  /** The style and the rule, such as `Callwright.Terms`. */
  Check: string;
  Line: number;
  Message: string;
}

const installedAt = (env: NodeJS.ProcessEnv) => join(cacheFolder(env), `vale-${VALE_VERSION}`, 'vale');

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
export async function installVale(env: NodeJS.ProcessEnv, report: (line: string) => void): Promise<string> {
  const go = await requireOnPath('go', env, 'Install Go 1.25 or later and a C compiler to build Vale.');
  const folder = join(cacheFolder(env), `vale-${VALE_VERSION}`);
  await buildOnce({
    folder,
    what: 'Vale',
    report,
    build: async (made) => {
      await runCommand({
        what: 'building Vale',
        usually: 'usually 2 minutes',
        file: go,
        args: [
          'install',
          `-ldflags=-s -w -X main.version=${VALE_VERSION}`,
          `github.com/vale-cli/vale/v3/cmd/vale@v${VALE_VERSION}`,
        ],
        cwd: made,
        env: { ...env, GOBIN: join(made, 'bin'), CGO_ENABLED: '1' },
        timeoutMs: BUILD_TIMEOUT_MS,
        report,
      });
      await rename(join(made, 'bin', 'vale'), join(made, 'vale'));
    },
  });
  return installedAt(env);
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
