/**
 * Runs work for one item after another. A failure does not stop the others.
 * @param p.until ms since the epoch; no item is started later
 * @param p.failed called for each failure; an error that it throws ends the run
 * @returns the results of the successful items
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
