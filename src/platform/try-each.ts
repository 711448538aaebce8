interface Tries<T, R> {
  /** In ms since the epoch; no item is started later. */
  until: number;
  work: (item: T) => Promise<R>;
  /** Called for each failure; an error that it throws ends the run. */
  failed: (error: unknown, item: T) => Promise<void> | void;
}

/**
 * Runs work for one item after another. A failure does not stop the others.
 * @returns the results of the successful items
 */
export async function tryEach<T, R>(items: Iterable<T>, p: Tries<T, R>): Promise<R[]> {
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

/** Does the same for some items at once. If the run ends with an error, no work of it is in progress any more. */
export async function trySeveral<T, R>(items: readonly T[], atOnce: number, p: Tries<T, R>): Promise<R[]> {
  // All runs take the next item from the same iterator.
  const rest = items.values();
  let hasEnded = false;
  function* next(): Generator<T> {
    for (const item of rest) {
      if (hasEnded) return;
      yield item;
    }
  }
  const runs = Array.from({ length: atOnce }, () =>
    tryEach(next(), p).catch((error: unknown) => {
      hasEnded = true;
      throw error;
    }),
  );
  await Promise.allSettled(runs);
  return (await Promise.all(runs)).flat();
}
