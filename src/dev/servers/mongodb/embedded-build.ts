import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { buildOnce } from '../build-once.js';
import { packageRoot } from '../cache-folder.js';
import { requireOnPath } from '../executables.js';
import { fetchLibraries } from '../maven.js';
import { runCommand } from '../../processes/run-command.js';
import type { FindOptions } from '../find-options.js';

/** The Java sources of the replacement, in the folder of this file. */
export const SOURCES = [
  'DocumentType.java',
  'EmbeddedMongo.java',
  'KeyType.java',
  'PlaceType.java',
  'StoredCollection.java',
  'StoredIndex.java',
  'StoredMaps.java',
  'StoredText.java',
];

const COMPILE_TIMEOUT_MS = 120_000;
const ADVICE =
  'Install a JDK of version 17 or later and Maven, or put MongoDB 8 (`mongod`) on PATH, or set MONGODB_URI to a running server.';

/**
 * Builds the embedded MongoDB replacement (Java classes and libraries) on first use.
 * @throws Error when Java or Maven is missing, or the build fails
 */
export async function buildEmbeddedMongo(
  options: FindOptions & { folder: string },
): Promise<{ java: string; folder: string }> {
  const { env, report, signal, folder } = options;
  const java = await requireOnPath('java', env, ADVICE);
  if (existsSync(folder)) return { java, folder };
  const compiler = await requireOnPath('javac', env, ADVICE);
  const source = join(packageRoot(), 'src/dev/servers/mongodb');
  await buildOnce({
    folder,
    what: 'the MongoDB stand-in',
    report,
    signal,
    build: async (made) => {
      const library = join(made, 'lib');
      await mkdir(library);
      const pom = join(source, 'pom.xml');
      await fetchLibraries({ what: 'the MongoDB stand-in', pom, folder: library, advice: ADVICE, env, report, signal });
      await runCommand({
        what: 'compiling the MongoDB stand-in',
        file: compiler,
        args: ['-cp', join(library, '*'), '-d', join(made, 'classes'), ...SOURCES.map((name) => join(source, name))],
        cwd: made,
        env,
        timeoutMs: COMPILE_TIMEOUT_MS,
        report,
        signal,
      });
    },
  });
  return { java, folder };
}
