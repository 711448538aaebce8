/**
 * Lets a process work on at most so many operations of one account at a time, the others in the order they came. An
 * account takes one write at a time anyway; hundreds that try at once would only refuse each other.
 */
export function createOperationTurns(limit: number) {
  const queues = new Map<string, { running: number; waiting: (() => void)[] }>();
  return async <T>(ledgerAccountId: string, work: () => Promise<T>): Promise<T> => {
    const queue = queues.get(ledgerAccountId) ?? { running: 0, waiting: [] };
    queues.set(ledgerAccountId, queue);
    if (queue.running < limit) queue.running++;
    // Whoever ends hands its turn on, so that nobody who comes meanwhile can slip in.
    else await new Promise<void>((resolve) => queue.waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = queue.waiting.shift();
      if (next) next();
      else if (--queue.running === 0) queues.delete(ledgerAccountId);
    }
  };
}
