const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Of the shells: 128 and the number of SIGINT. */
const INTERRUPTED = 130;

/**
 * Runs `work` with a signal that is aborted when this process is asked to stop. Asked a second time, it goes at once: its
 * processes are then ended by the watchdog.
 */
export async function untilStopped<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stopping = new AbortController();
  const onSignal = () => {
    if (stopping.signal.aborted) process.exit(INTERRUPTED);
    stopping.abort();
  };
  for (const name of SIGNALS) process.on(name, onSignal);
  // A terminal that is gone must not end the launcher before it has stopped what it started.
  process.stdout.on('error', () => undefined);
  try {
    return await work(stopping.signal);
  } finally {
    for (const name of SIGNALS) process.removeListener(name, onSignal);
  }
}

/** Resolves when the signal is aborted. */
export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
