import { join } from 'node:path';
import { startReady, type ServerProcess } from '../../../src/dev/servers/server-process.js';
import { packageRoot } from '../../../src/dev/servers/cache-folder.js';
import type { BenchServers } from './servers.js';

export interface NodeProcess extends ServerProcess {
  /** The address of the process's inspector; undefined if it has none. */
  inspector: string | undefined;
  /** The first message of the process, which reports that it is ready. */
  first: unknown;
}

export interface NodeOptions {
  /** Whether CPU profiles can be taken and garbage collections be forced, through the inspector. */
  inspect?: boolean;
  /** The file to which the process writes its database commands; absent: it writes none. */
  commandsFile?: string;
}

const READY_TIMEOUT_MS = 90_000;
const RECORDER = join(__dirname, '../commands/record-commands.cjs');

/** Starts a role from the build. */
export function startRole(
  servers: BenchServers,
  role: 'api' | 'worker' | 'simulator',
  env: NodeJS.ProcessEnv,
  options: NodeOptions = {},
): Promise<NodeProcess> {
  const program = [join(packageRoot(), 'dist/src/main.js'), role];
  return startNode(servers, { name: role, program, env, options });
}

/** Starts a TypeScript program of the benchmark. It sends a message when it is ready. */
export function startProgram(
  servers: BenchServers,
  file: string,
  env: NodeJS.ProcessEnv,
  options: NodeOptions = {},
): Promise<NodeProcess> {
  const program = ['--require', require.resolve('tsx/cjs'), join(__dirname, '..', file)];
  return startNode(servers, { name: file.replace(/^.*\/|\.ts$/g, ''), program, env, options });
}

async function startNode(
  servers: BenchServers,
  p: { name: string; program: readonly string[]; env: NodeJS.ProcessEnv; options: NodeOptions },
): Promise<NodeProcess> {
  const { name, program, options } = p;
  let inspector: string | undefined;
  let first: unknown;
  let forget: (() => void) | undefined;
  const flags = [
    ...(options.inspect === true ? ['--inspect=127.0.0.1:0'] : []),
    ...(options.commandsFile === undefined ? [] : ['--require', RECORDER]),
  ];
  const env = { ...p.env, BENCH_ROLE: name, BENCH_COMMANDS_FILE: options.commandsFile };
  const started = await startReady({
    name: `The process ${name}`,
    command: {
      file: process.execPath,
      args: [...flags, ...program],
      env,
      ipc: true,
      onLine(line) {
        inspector ??= /^Debugger listening on (ws:\S+)/.exec(line)?.[1];
        if (isAlarming(line)) process.stderr.write(`bench: ${name}: ${line}\n`);
      },
    },
    async probe(process_) {
      forget ??= process_.onMessage((message) => (first ??= message));
      if (first === undefined) throw new Error('no message');
    },
    timeoutMs: READY_TIMEOUT_MS,
  });
  forget?.();
  servers.watch(started);
  return { ...started, inspector, first };
}

/**
 * Whether a log line reports an error (pino's level 50), or is not a log line at all. Leaves out messages of the inspector
 * and warnings of Temporal's native code.
 */
function isAlarming(line: string): boolean {
  if (!line.startsWith('{'))
    return !/^(Debugger|For help, see|Starting inspector)|WARN.*temporalio_sdk_core/.test(line);
  return /"level":(?:[5-9]\d|"(?:error|fatal)")/.test(line);
}
