import { SESSION_POLICY } from './reducer/policy.js';

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
  const { pauseMs, endDigit, maxDigits } = SESSION_POLICY.dtmf;
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
      if (key === endDigit || keys.length >= maxDigits) complete();
      else pause = setTimeout(complete, pauseMs);
    },
    stop: complete,
  };
}
