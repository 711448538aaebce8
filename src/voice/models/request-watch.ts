/** A time limit of a request. */
export interface RequestLimit {
  /** Grants the whole time once more. */
  restart(): void;
  /** Removes the limit. */
  end(): void;
  /** How much time is left, in ms. */
  leftMs(): number;
}

/**
 * Watches over a request to a provider: its signal aborts with the outer one, or with the error of the first time limit
 * that passes.
 */
export function watchRequest(outer: AbortSignal) {
  const controller = new AbortController();
  const timers = new Set<NodeJS.Timeout>();
  const pass = () => controller.abort(outer.reason);
  if (outer.aborted) pass();
  outer.addEventListener('abort', pass, { once: true });

  return {
    signal: controller.signal,

    /** Adds a time limit. @param createError creates the signal's reason */
    limit(ms: number, createError: () => Error): RequestLimit {
      const timer = setTimeout(() => controller.abort(createError()), ms);
      timers.add(timer);
      let endsAt = performance.now() + ms;
      return {
        restart() {
          // A timer that has ended would start again.
          if (controller.signal.aborted) return;
          endsAt = performance.now() + ms;
          timer.refresh();
        },
        end(): void {
          clearTimeout(timer);
          timers.delete(timer);
        },
        leftMs: () => endsAt - performance.now(),
      };
    },

    /** Ends the request, also one whose response was not read to its end. */
    stop(): void {
      for (const timer of timers) clearTimeout(timer);
      outer.removeEventListener('abort', pass);
      controller.abort();
    },
  };
}
