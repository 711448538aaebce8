import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { SEARCH_ATTRIBUTES } from '../../src/platform/temporal/search-attributes.js';
import { buildOnce } from '../../src/dev/servers/build-once.js';
import { cacheFolder, packageRoot } from '../../src/dev/servers/cache-folder.js';
import { requireOnPath } from '../../src/dev/servers/executables.js';
import { fetchLibraries } from '../../src/dev/servers/maven.js';
import type { Report } from '../../src/dev/processes/run-command.js';
import { probePort, startReady, type ServerProcess } from '../../src/dev/servers/server-process.js';

const ADVICE = 'Install a JDK of version 17 or later and Maven: tests skip time with the Java test server of Temporal.';
const FLAGS = ['-Xmx256m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1'];

/** Starts Temporal's time-skipping test server. Its clock jumps ahead while workflows wait only for timers. */
export async function startTimeSkipping(options: {
  port: number;
  env: NodeJS.ProcessEnv;
  report: Report;
}): Promise<ServerProcess> {
  const { port, env } = options;
  const { java, library } = await findTimeSkipping(options);
  return startReady({
    name: 'the time-skipping server',
    command: {
      file: java,
      args: [...FLAGS, '-cp', join(library, '*'), 'io.temporal.testserver.TestServer', String(port)],
      env,
    },
    probe: async () => {
      await probePort(port);
      await registerAttributes(`127.0.0.1:${port}`);
    },
    timeoutMs: 60_000,
  });
}

/**
 * Writes a program that starts the time-skipping server. `TestWorkflowEnvironment.createTimeSkipping` runs this program
 * for each test that skips time, because each of these tests needs a separate clock.
 */
export async function writeTimeSkippingProgram(options: {
  folder: string;
  env: NodeJS.ProcessEnv;
  report: Report;
}): Promise<string> {
  const { java, library } = await findTimeSkipping(options);
  const file = join(options.folder, 'time-skipping-temporal');
  const command = [java, ...FLAGS, '-cp', `${library}/*`, 'io.temporal.testserver.TestServer'];
  const quoted = command.map((part) => `'${part.replaceAll("'", String.raw`'\''`)}'`).join(' ');
  await writeFile(file, `#!/bin/sh\nexec ${quoted} "$@"\n`, { mode: 0o755 });
  return file;
}

async function findTimeSkipping(options: {
  env: NodeJS.ProcessEnv;
  report: Report;
}): Promise<{ java: string; library: string }> {
  const { env, report } = options;
  const java = await requireOnPath('java', env, ADVICE);
  const folder = join(cacheFolder(env), 'temporal-test-server-1.38.0-1');
  if (existsSync(folder)) return { java, library: join(folder, 'lib') };
  await buildOnce({
    folder,
    what: 'the time-skipping server',
    report,
    build: async (made) => {
      const library = join(made, 'lib');
      await mkdir(library);
      const pom = join(packageRoot(), 'test/support/time-skipping/pom.xml');
      await fetchLibraries({ what: 'the time-skipping server', pom, folder: library, advice: ADVICE, env, report });
    },
  });
  return { java, library: join(folder, 'lib') };
}

async function registerAttributes(address: string): Promise<void> {
  const connection = await Connection.connect({ address, connectTimeout: 1_000 });
  try {
    await connection.withDeadline(Date.now() + 2_000, async () => {
      await connection.workflowService.getSystemInfo({});
      await connection.operatorService.addSearchAttributes({
        namespace: 'default',
        searchAttributes: Object.fromEntries(Object.keys(SEARCH_ATTRIBUTES).map((name) => [name, 2])),
      });
    });
  } finally {
    await connection.close();
  }
}
