interface Line {
  running: number;
  waiting: (() => void)[];
}

export interface Turns {
  /**
   * Waits until fewer than the limit are under way for this key, then does the work.
   * @throws the signal's reason when it is aborted before the turn comes
   */
  take<T>(key: string, signal: AbortSignal, work: () => Promise<T>): Promise<T>;
}

/** At most `limit` pieces of work at once for each key, first come first served; keys never wait for each other. */
export function createLookupTurns(limit: number): Turns {
  const lines = new Map<string, Line>();

  function arrive(line: Line, signal: AbortSignal): Promise<void> | undefined {
    if (line.running < limit) {
      line.running += 1;
      return undefined;
    }
    return new Promise((resolve, reject) => {
      const enter = () => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      const leave = () => {
        line.waiting = line.waiting.filter((each) => each !== enter);
        reject(signal.reason as Error);
      };
      line.waiting.push(enter);
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  return {
    async take(key, signal, work) {
      signal.throwIfAborted();
      const line = lines.get(key) ?? { running: 0, waiting: [] };
      lines.set(key, line);
      await arrive(line, signal);
      try {
        return await work();
      } finally {
        // The place goes to the next one, or is free.
        const next = line.waiting.shift();
        if (next !== undefined) next();
        else if (--line.running === 0) lines.delete(key);
      }
    },
  };
}
