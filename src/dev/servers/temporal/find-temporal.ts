import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { buildOnce } from '../build-once.js';
import { cacheFolder } from '../cache-folder.js';
import { findOnPath, isExecutable, requireOnPath } from '../executables.js';
import { runCommand } from '../../processes/run-command.js';
import type { FindOptions } from '../find-options.js';
import { downloadTemporal } from './temporal-download.js';

/** The last version that `go install` can build. It contains Server 1.29.1 and UI 2.42.1. */
const VERSION = '1.5.1';
const BUILD_TIMEOUT_MS = 1_800_000;
const ADVICE =
  'Install Go 1.24 or later, or put the Temporal CLI (`temporal`) on PATH, or set TEMPORAL_ADDRESS to a running server.';

/**
 * Finds or builds the Temporal CLI: on PATH, in the cache, by official download, or with Go.
 * @returns the path of the executable
 * @throws Error with one sentence that says what to install or configure
 */
export async function findTemporal(options: FindOptions): Promise<string> {
  const { env, report, signal } = options;
  const onPath = await findOnPath('temporal', env);
  if (onPath !== undefined) return onPath;
  const folder = join(cacheFolder(env), `temporal-${VERSION}`);
  const built = join(folder, 'temporal');
  if (await isExecutable(built)) return built;
  const downloads = join(cacheFolder(env), 'temporal-download');
  const found = await downloadTemporal({ ...options, downloads });
  if (found !== undefined) return found;
  const go = await requireOnPath('go', env, ADVICE);
  await buildOnce({
    folder,
    what: 'Temporal',
    report,
    signal,
    build: async (made) => {
      await runCommand({
        what: 'building Temporal',
        usually: 'usually 3 minutes on first run',
        file: go,
        args: ['install', `github.com/temporalio/cli/cmd/temporal@v${VERSION}`],
        cwd: made,
        env: { ...env, GOBIN: join(made, 'bin') },
        timeoutMs: BUILD_TIMEOUT_MS,
        report,
        signal,
      });
      await rename(join(made, 'bin', 'temporal'), join(made, 'temporal'));
    },
  });
  return built;
}
