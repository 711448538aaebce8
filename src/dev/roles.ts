import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from './servers/cache-folder.js';
import { startReady, type ServerProcess } from './servers/server-process.js';

export type ServiceRole = 'api' | 'worker' | 'media' | 'simulator';

/** Longer than a role waits for MongoDB and Temporal. */
const READY_TIMEOUT_MS = 75_000;

/**
 * Starts one role as a process of its own and waits for its word that it serves.
 * @throws Error with what it wrote last when it does not come up
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
    probe: (process_) =>
      process_.hasReported() ? Promise.resolve() : Promise.reject(new Error('it has not reported')),
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
