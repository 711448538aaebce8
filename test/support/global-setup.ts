import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** The key under which the setup stores its process for the teardown, because jest ignores what a setup returns. */
export const HANDLE = Symbol.for('callwright.testServers');

/** Long enough for a first run, which has to build Temporal. */
const TIMEOUT_MS = 1_200_000;

/** Starts the servers once for all test files, unless their addresses are already in the environment. */
export default async function globalSetup(): Promise<void> {
  if (process.env.TEST_SERVER_PIDS !== undefined) return;
  const script = join(__dirname, 'servers.ts');
  const child = spawn(process.execPath, ['--import', 'tsx', script], { stdio: ['pipe', 'pipe', 'inherit'] });
  Reflect.set(globalThis, HANDLE, child);
  const lines = createInterface({ input: child.stdout });
  const line = await Promise.race([
    once(lines, 'line', { signal: AbortSignal.timeout(TIMEOUT_MS) }).then(([text]) => String(text)),
    once(child, 'exit').then(([code]) => Promise.reject(new Error(`The test servers did not start (code ${code}).`))),
  ]);
  Object.assign(process.env, JSON.parse(line));
}

export type Handle = ChildProcess;
