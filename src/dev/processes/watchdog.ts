import { spawn } from 'node:child_process';

export interface Watchdog {
  watch(pid: number): void;
  forget(pid: number): void;
  /** Resolves when the watchdog has exited and no watched process is left. */
  close: () => Promise<void>;
}

/**
 * The watchdog's code, run in a separate process. It reads lines "+pid" and "-pid"; at the end of its input it kills
 * every process that is still listed.
 */
const PROGRAM = `
const pids = new Set();
let rest = '';
process.on('SIGINT', () => {}).on('SIGTERM', () => {}).on('SIGHUP', () => {});
process.stdin.on('data', (chunk) => {
  const lines = (rest + chunk).split('\\n');
  rest = lines.pop();
  for (const line of lines) pids[line[0] === '+' ? 'add' : 'delete'](Number(line.slice(1)));
});
process.stdin.on('end', () => {
  for (const pid of pids) try { process.kill(pid, 'SIGKILL'); } catch {}
});
`;

/**
 * Starts a process that kills the third-party servers if this process is killed. Our roles do not need it, because they
 * exit when their IPC channel closes.
 */
export function startWatchdog(): Watchdog {
  const child = spawn(process.execPath, ['-e', PROGRAM], { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
  // If the watchdog fails, or a write to it fails, the service must continue.
  child.on('error', () => undefined);
  child.stdin.on('error', () => undefined);
  child.unref();
  return {
    watch: (pid) => void child.stdin.write(`+${pid}\n`),
    forget: (pid) => void child.stdin.write(`-${pid}\n`),
    close: () =>
      new Promise((resolve) => {
        if (child.exitCode !== null || child.signalCode !== null) return resolve();
        child.once('close', () => resolve());
        child.ref();
        child.stdin.end();
      }),
  };
}
