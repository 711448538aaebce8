/** Named timers. */
export interface Timers<Name extends string> {
  /** Runs an action after `ms`, replacing the timer of the same name. */
  set: (name: Name, ms: number, action: () => void) => void;
  clear(): void;
}

export function createTimers<Name extends string>(): Timers<Name> {
  const timers = new Map<Name, NodeJS.Timeout>();
  return {
    set(name, ms, action) {
      clearTimeout(timers.get(name));
      timers.set(name, setTimeout(action, ms));
    },
    clear() {
      for (const timer of timers.values()) clearTimeout(timer);
      timers.clear();
    },
  };
}
