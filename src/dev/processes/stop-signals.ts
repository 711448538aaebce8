const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Exit code that shells use for SIGINT: 128 plus the signal's number. */
const INTERRUPTED = 130;

/**
 * Runs `work` with a signal that is aborted when this process receives SIGINT, SIGTERM or SIGHUP. A second one makes
 * the process exit at once. The watchdog then kills the child processes.
 */
export async function untilStopped<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stopping = new AbortController();
  const onSignal = () => {
    if (stopping.signal.aborted) process.exit(INTERRUPTED);
    stopping.abort();
  };
  for (const name of SIGNALS) process.on(name, onSignal);
  // If the terminal is closed, the launcher must still stop its processes, so ignore the error.
  process.stdout.on('error', () => undefined);
  try {
    return await work(stopping.signal);
  } finally {
    for (const name of SIGNALS) process.removeListener(name, onSignal);
  }
}

export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
