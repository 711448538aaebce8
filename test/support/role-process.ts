import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { recordingEnvironment } from './query-shapes/recording-environment.js';

type StartedRole = 'api' | 'media' | 'worker' | 'simulator' | 'exporter';

/** Starts a role in a separate process, as the launcher does, and does not wait until it is ready. */
export function spawnRole(role: StartedRole, env: Record<string, string | undefined>) {
  const child = spawn(process.execPath, [join(__dirname, '../../dist/src/main.js'), role], {
    env: { PATH: process.env.PATH, LOG_LEVEL: 'warn', ...recordingEnvironment(), ...env },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  return {
    child,
    pid: child.pid,
    isRunning: () => child.exitCode === null,
    /** Ends the role as an orchestrator does. */
    async stop(): Promise<{ code: number | null; signal: string | null }> {
      child.kill('SIGTERM');
      const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
      return { code, signal };
    },
    async kill(): Promise<void> {
      if (child.exitCode !== null) return;
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  };
}

/** Starts a role, so that the work of the test does not slow it down, and waits until it is ready. */
export async function startRole(role: StartedRole, env: Record<string, string | undefined>) {
  const started = spawnRole(role, env);
  const { child } = started;
  const ended = once(child, 'exit').then(() => Promise.reject(new Error(`the ${role} role ended instead of starting`)));
  await Promise.race([once(child, 'message', { signal: AbortSignal.timeout(50_000) }), ended]);
  ended.catch(() => undefined);
  return started;
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}
