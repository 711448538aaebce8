/** A pause after which a number that is keyed in counts as complete. */
const PAUSE_MS = 1_500;
const MAX_KEYS = 64;

export interface KeyCollector {
  press(key: string): void;
  /** No more keys will come: what was pressed counts as complete. */
  stop(): void;
}

/**
 * Puts keys together that were pressed one after the other: up to `#`, or to a pause.
 * @param onKeys all of them, and how long ago the first was pressed, ms
 */
export function collectKeys(onKeys: (keys: string, sinceMs: number) => void): KeyCollector {
  let keys = '';
  let firstAt = 0;
  let pause: NodeJS.Timeout | undefined;

  function complete(): void {
    clearTimeout(pause);
    const all = keys;
    keys = '';
    if (all !== '') onKeys(all, performance.now() - firstAt);
  }

  return {
    press(key) {
      if (keys === '') firstAt = performance.now();
      keys += key;
      clearTimeout(pause);
      if (key === '#' || keys.length >= MAX_KEYS) complete();
      else pause = setTimeout(complete, PAUSE_MS);
    },
    stop: complete,
  };
}
