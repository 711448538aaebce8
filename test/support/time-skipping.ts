import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { SEARCH_ATTRIBUTES } from '../../src/platform/temporal/search-attributes.js';
import { createPorts } from '../../src/dev/processes/free-port.js';
import { buildOnce } from '../../src/dev/servers/build-once.js';
import { cacheFolder, packageRoot } from '../../src/dev/servers/cache-folder.js';
import { requireOnPath } from '../../src/dev/servers/executables.js';
import { fetchLibraries } from '../../src/dev/servers/maven.js';
import type { Report } from '../../src/dev/processes/run-command.js';
import { probePort, startReady, type ServerProcess } from '../../src/dev/servers/server-process.js';

const ADVICE = 'Install a JDK of version 17 or later and Maven: tests skip time with the Java test server of Temporal.';
const ARCHIVE = 'classes.jsa';
const FLAGS = ['-Xmx256m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1'];

/** Starts Temporal's time-skipping test server. Its clock jumps ahead while workflows wait only for timers. */
export async function startTimeSkipping(options: {
  port: number;
  env: NodeJS.ProcessEnv;
  report: Report;
}): Promise<ServerProcess> {
  const { port, env } = options;
  const [java = '', ...args] = await findTimeSkipping(options);
  return startReady({
    name: 'the time-skipping server',
    command: { file: java, args: [...args, String(port)], env },
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
  const command = await findTimeSkipping(options);
  const file = join(options.folder, 'time-skipping-temporal');
  const quoted = command.map((part) => `'${part.replaceAll("'", String.raw`'\''`)}'`).join(' ');
  await writeFile(file, `#!/bin/sh\nexec ${quoted} "$@"\n`, { mode: 0o755 });
  return file;
}

/** Builds what the server needs. Returns its command, which takes the port. */
async function findTimeSkipping({ env, report }: { env: NodeJS.ProcessEnv; report: Report }): Promise<string[]> {
  const what = 'the time-skipping server';
  const java = await requireOnPath('java', env, ADVICE);
  const folder = join(cacheFolder(env), 'temporal-test-server-1.38.0-1');
  await buildOnce({
    folder,
    what,
    report,
    build: async (made) => {
      const library = join(made, 'lib');
      await mkdir(library);
      const pom = join(packageRoot(), 'test/support/time-skipping/pom.xml');
      await fetchLibraries({ what, pom, folder: library, advice: ADVICE, env, report });
    },
  });
  const server = ['-cp', join(folder, 'lib', '*'), 'io.temporal.testserver.TestServer'];
  const archives = await buildOnce({
    folder: `${folder}-classes`,
    what: `the class archive of ${what}`,
    report,
    // Without the archive, the server starts as well, only later.
    build: (made) =>
      archiveClasses({ java, server, archive: join(made, ARCHIVE), env }).catch((error: unknown) =>
        report(`this Java makes no class archive: ${String(error)}`),
      ),
  });
  // Java ignores an archive that is missing or of another version.
  return [java, ...FLAGS, `-XX:SharedArchiveFile=${join(archives, ARCHIVE)}`, '-Xshare:auto', ...server];
}

/**
 * Starts the server once and stops it, so that Java stores the loaded classes in an archive. With it, a start takes half
 * as long: 2.3 instead of 5 s on a busy machine with two cores, where the SDK waits for 5 s.
 */
async function archiveClasses(p: { java: string; server: string[]; archive: string; env: NodeJS.ProcessEnv }) {
  const ports = createPorts(p.env);
  try {
    const port = await ports.take();
    const args = [...FLAGS, `-XX:ArchiveClassesAtExit=${p.archive}`, ...p.server, String(port)];
    const command = { file: p.java, args, env: p.env };
    const probe = () => probePort(port);
    const server = await startReady({ name: 'the time-skipping server', command, probe, timeoutMs: 60_000 });
    await server.stop(120_000);
  } finally {
    await ports.release();
  }
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
