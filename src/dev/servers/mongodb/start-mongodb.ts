import { mkdir } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { probePort, startReady, type ServerCommand, type ServerProcess } from '../server-process.js';
import type { MongodbProgram } from './find-mongodb.js';

const READY_TIMEOUT_MS = 60_000;
const LOOPBACK = '127.0.0.1';

/** The embedded server blocks one thread per write until the commit. So many connections need many threads. */
const CONNECTION_THREADS = 64;

export interface MongodbOptions {
  program: MongodbProgram;
  dataFolder: string;
  port: number;
  /** The address on which it listens; loopback by default. */
  host?: string;
  env: NodeJS.ProcessEnv;
  /** Changes the command line, such as to start the server on another host. */
  at?: (file: string, args: readonly string[]) => Pick<ServerCommand, 'file' | 'args'>;
  signal?: AbortSignal | undefined;
}

/**
 * Starts the server and waits until it listens.
 * @throws Error with the last lines of its output when it does not start
 */
export async function startMongodb(options: MongodbOptions): Promise<ServerProcess> {
  await mkdir(options.dataFolder, { recursive: true });
  const command = commandOf(options);
  return startReady({
    name: 'MongoDB',
    command: { ...command, ...options.at?.(command.file, command.args) },
    probe: () => probePort(options.port, options.host),
    timeoutMs: READY_TIMEOUT_MS,
    signal: options.signal,
  });
}

/**
 * Returns the connection string of a database. With `journal=true`, a standalone mongod confirms a write only when the
 * write is on disk.
 */
export function mongodbUri(program: MongodbProgram, port: number, database: string, host = LOOPBACK): string {
  const server = `mongodb://${host}:${port}/${database}`;
  return program.kind === 'mongod' ? `${server}?journal=true` : server;
}

function commandOf({ program, dataFolder, port, host = LOOPBACK, env }: MongodbOptions): ServerCommand {
  if (program.kind === 'mongod') {
    const args = ['--dbpath', dataFolder, '--port', String(port), '--bind_ip', host, '--quiet'];
    return { file: program.file, args: [...args, '--wiredTigerCacheSizeGB', '0.5'], env };
  }
  const classPath = [join(program.folder, 'classes'), join(program.folder, 'lib', '*')].join(delimiter);
  const memory = ['-Xmx512m', '-XX:+UseSerialGC', '-XX:+ExitOnOutOfMemoryError'];
  const flags = [...memory, '-XX:TieredStopAtLevel=1', `-Dio.netty.eventLoopThreads=${CONNECTION_THREADS}`];
  const args = [...flags, '-cp', classPath, 'EmbeddedMongo', dataFolder, String(port), host];
  return { file: program.java, args, env };
}
