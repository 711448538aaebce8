export type RefillingBudget = ReturnType<typeof createRefillingBudget>;

/**
 * Creates a budget that time refills, up to its size at the start.
 * @param p.now current time in ms
 */
export function createRefillingBudget(p: { size: number; perSecond: number; now: () => number }) {
  const { size, perSecond, now } = p;
  let left = size;
  let atMs = now();

  function refilled(): number {
    const ms = now();
    left = Math.min(size, left + ((ms - atMs) / 1_000) * perSecond);
    atMs = ms;
    return left;
  }

  return {
    left: refilled,
    /** Charges an amount. @returns false, and charges nothing, if there is not enough left */
    takes(amount: number): boolean {
      if (amount > refilled()) return false;
      left -= amount;
      return true;
    },
  };
}
