export type InTurn = <T>(work: () => Promise<T>, whenFull: () => Promise<T>) => Promise<T>;

/**
 * Runs as much work at once as given; more waits for its turn, in order of arrival.
 * @returns what does work in turn, or `whenFull` instead of it when too much waits already
 */
export function createTurns({ atOnce, mostWaiting }: { atOnce: number; mostWaiting: number }): InTurn {
  const waiting: (() => void)[] = [];
  let running = 0;

  return async (work, whenFull) => {
    if (running >= atOnce) {
      if (waiting.length >= mostWaiting) return whenFull();
      await new Promise<void>((resolve) => waiting.push(resolve));
    } else running += 1;
    try {
      return await work();
    } finally {
      // The place goes to the next one, or is free.
      const next = waiting.shift();
      if (next !== undefined) next();
      else running -= 1;
    }
  };
}
