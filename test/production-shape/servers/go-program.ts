import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { runCommand, type Report } from '../../../src/dev/processes/run-command.js';
import { buildOnce } from '../../../src/dev/servers/build-once.js';
import { cacheFolder } from '../../../src/dev/servers/cache-folder.js';
import { requireOnPath } from '../../../src/dev/servers/executables.js';

const BUILD_TIMEOUT_MS = 1_800_000;

/**
 * Builds a program from a Go module into the cache of built servers, once.
 * @param p.label the name of the program in the cache and in messages
 * @param p.name the name of the executable that `go install` makes
 * @returns the path of the executable
 */
export async function goProgram(p: {
  label: string;
  name: string;
  module: string;
  version: string;
  env: NodeJS.ProcessEnv;
  report: Report;
  signal: AbortSignal;
}): Promise<string> {
  const { env, report, signal } = p;
  const folder = join(cacheFolder(env), `${p.label}-${p.version}`);
  const what = `${p.label} ${p.version}`;
  await buildOnce({
    folder,
    what,
    report,
    signal,
    build: async (made) => {
      const go = await requireOnPath('go', env, 'Install Go, or run the short form, which needs no such server.');
      await runCommand({
        what: `building ${what}`,
        usually: 'usually 3 minutes on first run',
        file: go,
        args: ['install', `${p.module}@v${p.version}`],
        cwd: made,
        env: { ...env, GOBIN: join(made, 'bin') },
        timeoutMs: BUILD_TIMEOUT_MS,
        report,
        signal,
      });
      await rename(join(made, 'bin', p.name), join(made, p.name));
    },
  });
  return join(folder, p.name);
}
