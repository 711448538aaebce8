/** Tests that a run of a suite leaves out, by their names, each with the reason. */
export type LeftOut = Readonly<Record<string, string>>;

/** Registers the tests of a suite, apart from those that are left out. */
export function createRequirements(leftOut: LeftOut) {
  const offered = new Set<string>();
  return {
    requirement: (what: string, check: () => Promise<unknown>, timeoutMs?: number): void => {
      offered.add(what);
      if (leftOut[what] === undefined) it(what, check, timeoutMs);
    },

    /** @throws Error if a test that was left out does not exist */
    checkNames(): void {
      const unknown = Object.keys(leftOut).filter((what) => !offered.has(what));
      if (unknown.length > 0) throw new Error(`the suite has no test ${unknown.join(', ')}`);
    },
  };
}
