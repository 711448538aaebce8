import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createPorts } from '../../src/dev/processes/free-port.js';
import { findMongodb } from '../../src/dev/servers/mongodb/find-mongodb.js';
import { startMongodb } from '../../src/dev/servers/mongodb/start-mongodb.js';
import type { ServerProcess } from '../../src/dev/servers/server-process.js';
import { findTemporal } from '../../src/dev/servers/temporal/find-temporal.js';
import { startTemporal } from '../../src/dev/servers/temporal/start-temporal.js';
import { startWatchdog } from '../../src/dev/processes/watchdog.js';
import { dataOf, startObjectStorage } from './object-storage/server.js';
import { startTimeSkipping, writeTimeSkippingProgram } from './time-skipping.js';

/**
 * Runs the servers that tests need, as a separate process. Prints the servers' addresses and pids as one line of JSON.
 * Stops the servers when the standard input ends, so that they end even if the test runner is killed.
 */
async function main(env: NodeJS.ProcessEnv): Promise<void> {
  const report = (line: string) => void process.stderr.write(`test servers: ${line}\n`);
  const folder = await mkdtemp(join(tmpdir(), 'callwright-test-'));
  const ports = createPorts(env);
  const watchdog = startWatchdog();
  const running: ServerProcess[] = [];
  const started = async (server: Promise<ServerProcess>) => {
    const process_ = await server;
    watchdog.watch(process_.pid);
    running.push(process_);
  };
  const stop = async () => {
    await Promise.all(running.splice(0).map((server) => server.stop()));
    await watchdog.close();
    await ports.release();
    await rm(folder, { recursive: true, force: true });
  };

  async function mongodb(): Promise<string> {
    if (env.MONGODB_URI) return serverOf(env.MONGODB_URI);
    const port = await ports.take();
    const dataFolder = join(folder, 'mongodb');
    const program = await findMongodb({ env, report, dataFolder });
    await started(startMongodb({ program, dataFolder, port, env }));
    return `mongodb://127.0.0.1:${port}`;
  }
  async function temporal(): Promise<string> {
    if (env.TEMPORAL_ADDRESS) return env.TEMPORAL_ADDRESS;
    const port = await ports.take();
    await started(startTemporal({ file: await findTemporal({ env, report }), port, env }));
    return `127.0.0.1:${port}`;
  }
  async function timeSkipping(): Promise<string> {
    const port = await ports.take();
    await started(startTimeSkipping({ port, env, report }));
    return `127.0.0.1:${port}`;
  }

  const s3Folder = join(folder, 's3');
  async function objectStorage(): Promise<string> {
    const port = await ports.take();
    await started(startObjectStorage({ folder: s3Folder, port, env, report }));
    return `http://127.0.0.1:${port}`;
  }

  process.stdin.resume();
  process.stdin.once('end', () => void stop().finally(() => process.exit()));
  try {
    const [
      TEST_MONGODB_URI,
      TEST_TEMPORAL_ADDRESS,
      TEST_TIME_SKIPPING_ADDRESS,
      TEST_TIME_SKIPPING_PROGRAM,
      TEST_S3_ENDPOINT,
    ] = await Promise.all([
      mongodb(),
      temporal(),
      timeSkipping(),
      writeTimeSkippingProgram({ folder, env, report }),
      objectStorage(),
    ]);
    const environment = {
      TEST_MONGODB_URI,
      TEST_TEMPORAL_ADDRESS,
      TEST_TIME_SKIPPING_ADDRESS,
      TEST_TIME_SKIPPING_PROGRAM,
      TEST_S3_ENDPOINT,
      TEST_S3_DATA: dataOf(s3Folder),
      TEST_SERVER_PIDS: running.map(({ pid }) => pid).join(','),
    };
    process.stdout.write(`${JSON.stringify(environment)}\n`);
  } catch (error) {
    report(error instanceof Error ? error.message : String(error));
    await stop();
    process.exit(1);
  }
}

/** Returns the URI without database and options, to which each test file appends its own database. */
function serverOf(uri: string): string {
  return /^mongodb(\+srv)?:\/\/[^/?]+/.exec(uri)?.[0] ?? uri;
}

void main(process.env);
