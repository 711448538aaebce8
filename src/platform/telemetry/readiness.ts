import { withDeadline } from '../http/deadline.js';

/** Timeout of the check of one dependency. */
const CHECK_TIMEOUT_MS = 1_000;

/** Results are reused this long. Health checks need no key, so frequent requests must be cheap. */
const FRESH_MS = 1_000;

export type DependencyState = 'ok' | 'away';

/** Returns a function that checks all dependencies at once, and reuses the result for a second. */
export function createDependencyChecks<Name extends string>(
  checks: Readonly<Record<Name, () => Promise<unknown>>>,
): () => Promise<Record<Name, DependencyState>> {
  type States = Record<Name, DependencyState>;
  let last: { at: number; states: Promise<States> } | undefined;

  async function look(): Promise<States> {
    const names = Object.keys(checks) as Name[];
    const states = await Promise.all(names.map(async (name) => [name, await stateOf(checks[name]())] as const));
    return Object.fromEntries(states) as States;
  }

  return () => {
    if (last === undefined || Date.now() - last.at > FRESH_MS) last = { at: Date.now(), states: look() };
    return last.states;
  };
}

async function stateOf(check: Promise<unknown>): Promise<DependencyState> {
  try {
    await withDeadline(Date.now() + CHECK_TIMEOUT_MS, check);
    return 'ok';
  } catch {
    return 'away';
  }
}
