/**
 * Creates a semaphore per ledger account, which serves operations in order of arrival. MongoDB applies one write per
 * account at a time anyway, so hundreds of concurrent attempts would only conflict with each other.
 * @param limit maximum concurrent operations per account in this process
 */
export function createOperationQueues(limit: number) {
  const queues = new Map<string, { running: number; waiting: (() => void)[] }>();
  return async <T>(ledgerAccountId: string, work: () => Promise<T>): Promise<T> => {
    const queue = queues.get(ledgerAccountId) ?? { running: 0, waiting: [] };
    queues.set(ledgerAccountId, queue);
    if (queue.running < limit) queue.running++;
    // A finished operation passes its slot directly to the next waiter, so that later operations cannot overtake.
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
