import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { buildOnce } from '../build-once.js';
import { packageRoot } from '../cache-folder.js';
import { requireOnPath } from '../executables.js';
import { runCommand } from '../run-command.js';
import type { FindOptions } from './find-mongodb.js';

const TIMEOUT_MS = 600_000;
const ADVICE =
  'Install a JDK of version 17 or later and Maven, or put MongoDB 8 (`mongod`) on PATH, or set MONGODB_URI to a running server.';

/**
 * The stand-in's classes and libraries, built on first use.
 * @throws Error when Java or Maven is missing, or the build fails
 */
export async function buildEmbeddedMongo(
  options: FindOptions & { folder: string },
): Promise<{ java: string; folder: string }> {
  const { env, report, signal, folder } = options;
  const java = await requireOnPath('java', env, ADVICE);
  if (existsSync(folder)) return { java, folder };
  const maven = await requireOnPath('mvn', env, ADVICE);
  const compiler = await requireOnPath('javac', env, ADVICE);
  const source = join(packageRoot(), 'src/launch/mongodb');
  await buildOnce({
    folder,
    what: 'the MongoDB stand-in',
    report,
    signal,
    async build(made) {
      const common = { cwd: made, env, timeoutMs: TIMEOUT_MS, report, signal };
      await runCommand({
        ...common,
        what: 'fetching the MongoDB stand-in',
        usually: 'usually 20 s on first run',
        file: maven,
        args: [
          ...['--batch-mode', '--quiet', '--file', join(source, 'pom.xml')],
          ...['dependency:copy-dependencies', '-DincludeScope=runtime', `-DoutputDirectory=${join(made, 'lib')}`],
        ],
      });
      await runCommand({
        ...common,
        what: 'compiling the MongoDB stand-in',
        file: compiler,
        args: ['-cp', join(made, 'lib', '*'), '-d', join(made, 'classes'), join(source, 'EmbeddedMongo.java')],
      });
    },
  });
  return { java, folder };
}
