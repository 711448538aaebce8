import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { findMongodb } from '../../../src/dev/servers/mongodb/find-mongodb.js';
import { findTemporal } from '../../../src/dev/servers/temporal/find-temporal.js';
import type { Report } from '../../../src/dev/processes/run-command.js';
import { untilStopped } from '../../../src/dev/processes/stop-signals.js';
import type { Options } from '../options.js';
import { buildCaddy } from '../servers/proxy.js';
import { buildTemporalServer } from '../servers/temporal.js';
import { requireNamespaces } from './ip.js';
import { createNetwork, onHub, removeLeftNetworks, removeNetwork } from './network.js';

/** Longer than a run needs to end all of its processes. */
const GRACE_MS = 120_000;

/**
 * Makes the hosts, runs this program again on one of them, and removes them.
 * @param args the arguments of this program
 * @returns whether everything held
 * @throws Error if the hosts cannot be made
 */
export async function runOnHosts(args: readonly string[], options: Options, report: Report): Promise<boolean> {
  requireNamespaces();
  for (const owner of removeLeftNetworks()) report(`removed the hosts of process ${owner}, which was killed`);
  return untilStopped(async (signal) => {
    await prepareServers(options, report, signal);
    const owner = process.pid;
    const remove = () => removeNetwork(owner);
    process.once('exit', remove);
    try {
      createNetwork(owner);
      return await runOnHub(owner, args, signal);
    } finally {
      process.removeListener('exit', remove);
      remove();
    }
  });
}

/** Makes sure that all programs of servers exist, because the hosts have no network to fetch any. */
async function prepareServers(options: Options, report: Report, signal: AbortSignal): Promise<void> {
  const { env } = process;
  await findMongodb({ env, report, signal, dataFolder: '/nonexistent' });
  if (options.embedded) return void (await findTemporal({ env, report, signal }));
  await buildTemporalServer({ env, report, signal });
  await buildCaddy({ env, report, signal });
}

/** Runs this program on the hub. It ends when this process does, because its standard input is closed then. */
async function runOnHub(owner: number, args: readonly string[], signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return false;
  const [program = ''] = process.argv.slice(1);
  const own = [...process.execArgv, program, ...args, '--owner', String(owner)];
  const command = onHub(owner, process.execPath, own);
  // Its own process group, so that Ctrl-C reaches it once.
  const child = spawn(command.file, command.args, { stdio: ['pipe', 'inherit', 'inherit'], detached: true });
  let killing: NodeJS.Timeout | undefined;
  const stop = () => {
    child.kill('SIGTERM');
    killing = setTimeout(() => child.kill('SIGKILL'), GRACE_MS);
  };
  signal.addEventListener('abort', stop, { once: true });
  try {
    const [code] = (await once(child, 'exit')) as [number | null];
    return code === 0;
  } finally {
    clearTimeout(killing);
    signal.removeEventListener('abort', stop);
  }
}
