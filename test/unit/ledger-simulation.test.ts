import { MUTANTS } from '../simulation/mutants.js';
import { simulate } from '../simulation/world.js';

const SEEDS = 3_000;
/** The simulations need some seconds of CPU time. On a busy machine they take longer. */
const TIMEOUT_MS = 300_000;
const MOST_SEEDS_FOR_A_MUTANT = 3_000;

describe('the ledger under lost messages, late writes, overlapping attempts and crashes', () => {
  it(
    `breaks no rule in ${SEEDS} schedules`,
    async () => {
      const found: string[] = [];
      let steps = 0;
      for (let seed = 1; seed <= SEEDS; seed++) {
        const outcome = await simulate(seed);
        steps += outcome.steps;
        found.push(...outcome.violations.map((violation) => `seed ${seed}: ${violation}`));
      }
      expect(found).toEqual([]);
      expect(steps).toBeGreaterThan(SEEDS * 50);
    },
    TIMEOUT_MS,
  );

  it('replays a seed identically', async () => {
    const [one, other] = [await simulate(4_711, { traced: true }), await simulate(4_711, { traced: true })];
    expect(one.trace.length).toBeGreaterThan(50);
    expect(other).toEqual(one);
  });

  it.each(Object.entries(MUTANTS))(
    'breaks a rule if %s',
    async (_name, mutant) => {
      const violations: string[] = [];
      for (let seed = 1; seed <= MOST_SEEDS_FOR_A_MUTANT && !violations.some((v) => mutant.caughtBy.test(v)); seed++) {
        violations.push(...(await simulate(seed, { mutant })).violations);
      }
      expect(violations).toContainEqual(expect.stringMatching(mutant.caughtBy));
    },
    TIMEOUT_MS,
  );
});
