/**
 * Does work for each item in turn, so that one which fails keeps no other from its turn.
 * @param p.until ms since the epoch; no item is begun later
 * @param p.failed is told of each failure; what it throws ends the run
 * @returns what the work gave for those that succeeded
 */
export async function tryEach<T, R>(
  items: Iterable<T>,
  p: { until: number; work: (item: T) => Promise<R>; failed: (error: unknown, item: T) => Promise<void> | void },
): Promise<R[]> {
  const done: R[] = [];
  for (const item of items) {
    if (Date.now() >= p.until) break;
    try {
      done.push(await p.work(item));
    } catch (error) {
      await p.failed(error, item);
    }
  }
  return done;
}
