import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from './servers/cache-folder.js';
import { startReady, type ServerProcess } from './servers/server-process.js';

export type ServiceRole = 'api' | 'worker' | 'media' | 'simulator';

/** How long to wait for a role to be ready. It is longer than a role waits for MongoDB and Temporal. */
const READY_TIMEOUT_MS = 75_000;

/**
 * Starts one role as a separate process and waits until it reports that it is ready.
 * @throws Error with the last lines of its output when it does not start
 */
export async function startRole(p: {
  role: ServiceRole;
  env: NodeJS.ProcessEnv;
  onLine: (line: string) => void;
  signal: AbortSignal;
}): Promise<ServerProcess> {
  return startReady({
    name: `The ${p.role}`,
    command: { file: process.execPath, args: [mainFile(), p.role], env: p.env, ipc: true, onLine: p.onLine },
    probe: (process_) => (process_.hasReported() ? Promise.resolve() : Promise.reject(new Error('no ready message'))),
    timeoutMs: READY_TIMEOUT_MS,
    signal: p.signal,
  });
}

/** @throws Error when the service has not been built */
function mainFile(): string {
  const file = join(packageRoot(), 'dist/src/main.js');
  if (!existsSync(file)) throw new Error('The service is not built. Run `npm run build` first.');
  return file;
}
