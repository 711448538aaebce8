const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** The shells' exit code for SIGINT: 128 plus the signal's number. */
const INTERRUPTED = 130;

/**
 * Runs `work` with a signal that is aborted when this process receives SIGINT, SIGTERM or SIGHUP. A second signal exits
 * at once; the watchdog then kills the child processes.
 */
export async function untilStopped<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stopping = new AbortController();
  const onSignal = () => {
    if (stopping.signal.aborted) process.exit(INTERRUPTED);
    stopping.abort();
  };
  for (const name of SIGNALS) process.on(name, onSignal);
  // A closed terminal must not end the launcher before it has stopped its processes.
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
