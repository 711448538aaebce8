import type { CreateFault, Scenario, Scenarios } from './scenario.js';

/** Which scenario a call follows, and what goes wrong with the request that creates it. */
export interface Faults {
  /**
   * The next `count` calls get the faults of a scenario, whatever their number: those of its callbacks, its stream and,
   * being dialed, its create request. What their far end does stays their own.
   */
  inject(key: string, count: number): boolean;
  /**
   * What the n-th request for one call meets. A request is told from a repeat by number and URL, which are the same on a
   * retry and different for another call.
   */
  onCreate(to: string, url: string): { scenario: Scenario; fault: CreateFault | undefined };
  /** What a call that arrives at the customer meets. Faults of create requests wait for the next call that is dialed. */
  onArrive(scenario: Scenario): Scenario;
  pending(): { fault: string; count: number }[];
}

/** Requests remembered to tell a repeat from a new call. */
const MAX_REMEMBERED = 10_000;

export function createFaults(scenarios: Scenarios): Faults {
  const injected: { fault: Scenario; count: number }[] = [];
  const seen = new Map<string, { scenario: Scenario; requests: number }>();

  function takeInjected(scenario: Scenario, fits: (fault: Scenario) => boolean): Scenario {
    const index = injected.findIndex(({ fault }) => fits(fault));
    const entry = injected[index];
    if (entry === undefined) return scenario;
    if (--entry.count <= 0) injected.splice(index, 1);
    const { callbacks, stream, create } = entry.fault;
    return { ...scenario, callbacks, stream, create };
  }

  function remember(key: string, to: string) {
    const entry = { scenario: takeInjected(scenarios.ofNumber(to), () => true), requests: 0 };
    seen.set(key, entry);
    const oldest = seen.keys().next();
    if (seen.size > MAX_REMEMBERED && !oldest.done) seen.delete(oldest.value);
    return entry;
  }

  return {
    inject(key, count) {
      const fault = scenarios.find(key);
      if (fault === undefined) return false;
      injected.push({ fault, count });
      return true;
    },
    onCreate(to, url) {
      const key = `${to} ${url}`;
      const entry = seen.get(key) ?? remember(key, to);
      entry.requests++;
      const { create } = entry.scenario;
      if (create !== undefined && entry.requests <= create.times) return { scenario: entry.scenario, fault: create };
      // The call comes to be with this request; the next one like it is another call.
      seen.delete(key);
      return { scenario: entry.scenario, fault: undefined };
    },
    onArrive: (scenario) => takeInjected(scenario, ({ create }) => create === undefined),
    pending: () => injected.map(({ fault, count }) => ({ fault: fault.name, count })),
  };
}
