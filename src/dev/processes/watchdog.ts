import { spawn } from 'node:child_process';

export interface Watchdog {
  watch(pid: number): void;
  forget(pid: number): void;
  /** Resolves when the watchdog is gone, with nothing left to end. */
  close: () => Promise<void>;
}

/** Runs in a process of its own: reads "+pid" and "-pid" lines, and when they end, so does every process still listed. */
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
 * Ends foreign servers when this process is killed and cannot do so itself. Its own roles need none: they see their IPC
 * channel close.
 */
export function startWatchdog(): Watchdog {
  const child = spawn(process.execPath, ['-e', PROGRAM], { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
  // A watchdog that is gone is no reason to stop serving; writing to it must not be one either.
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
