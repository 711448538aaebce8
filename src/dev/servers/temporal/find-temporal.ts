import { join } from 'node:path';
import { cacheFolder } from '../cache-folder.js';
import { findOnPath, isExecutable } from '../executables.js';
import type { FindOptions } from '../find-options.js';
import { buildGoProgram, goProgramPath, type GoProgram } from '../go-program.js';
import { downloadTemporal } from './temporal-download.js';

const TEMPORAL: GoProgram = {
  label: 'temporal',
  name: 'temporal',
  // The last version that `go install` can build. It contains Server 1.29.1 and UI 2.42.1.
  version: '1.5.1',
  module: 'github.com/temporalio/cli/cmd/temporal',
  what: 'Temporal',
  usually: 'usually 3 minutes on first run',
  advice:
    'Install Go 1.24 or later, or put the Temporal CLI (`temporal`) on PATH, or set TEMPORAL_ADDRESS to a running server.',
  timeoutMs: 1_800_000,
};

/**
 * Finds or builds the Temporal CLI: on PATH, in the cache, by official download, or with Go.
 * @returns the path of the executable
 * @throws Error with one sentence that says what to install or configure
 */
export async function findTemporal(options: FindOptions): Promise<string> {
  const { env } = options;
  const onPath = await findOnPath('temporal', env);
  if (onPath !== undefined) return onPath;
  const built = goProgramPath(TEMPORAL, env);
  if (await isExecutable(built)) return built;
  const downloads = join(cacheFolder(env), 'temporal-download');
  return (await downloadTemporal({ ...options, downloads })) ?? buildGoProgram(TEMPORAL, options);
}
