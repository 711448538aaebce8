/** Limits of a capacity. */
export interface CapacityLimits {
  initial: number;
  min: number;
  max: number;
}

/** Counts how many calls a process may decide at a time, which depends on how long decisions take. */
export function createDecisionCapacity({ initial, min, max }: CapacityLimits) {
  let size = initial;
  let lastCutAt = 0;

  return {
    size: () => Math.floor(size),
    isLeast: () => size <= min,

    /** Sets the capacity to its minimum. */
    cutToLeast(): void {
      size = min;
      lastCutAt = performance.now();
    },

    /** Lets slow decisions that have started before now cause no reduction, because their cause was removed. */
    excuse(): void {
      lastCutAt = performance.now();
    },

    /** Records a quick decision: as many of them as the capacity add one to it. */
    grow(): void {
      size = Math.min(max, size + 1 / size);
    },

    /**
     * Records a slow decision, which halves the capacity. Decisions that started before the last reduction were slow
     * for the same reason, so they cause no further one.
     * @param since start of the decision, in ms of `performance.now()`
     */
    cut(since: number): void {
      if (since < lastCutAt) return;
      size = Math.max(min, Math.floor(size / 2));
      lastCutAt = performance.now();
    },
  };
}
