import type { CreateFault, Scenario, Scenarios } from './scenario.js';

/** Selects the scenario of each call and the fault of its create request. */
export interface Faults {
  /**
   * Gives the next `count` calls the faults of a scenario, whatever number is called: faults of callbacks, of the media
   * stream and, for outbound calls, of the create request. The remote party behaves as in the scenario of the called
   * number.
   * @returns false when the scenario does not exist
   */
  inject(key: string, count: number): boolean;
  /**
   * Returns the scenario and fault of a create request. A request with the number and URL of an earlier one that had
   * a fault is a retry of that request, and receives the same scenario.
   */
  onCreate(to: string, url: string): { scenario: Scenario; fault: CreateFault | undefined };
  /**
   * Returns the scenario of an inbound call. Injected faults of create requests are kept for the next outbound call.
   */
  onArrive(scenario: Scenario): Scenario;
  pending(): { fault: string; count: number }[];
}

/** Maximum number of create requests that are kept to recognize retries. */
const MAX_TRACKED_REQUESTS = 10_000;

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

  function selectScenario(key: string, to: string) {
    const entry = { scenario: takeInjected(scenarios.findByNumber(to), () => true), requests: 0 };
    seen.set(key, entry);
    const oldest = seen.keys().next();
    if (seen.size > MAX_TRACKED_REQUESTS && !oldest.done) seen.delete(oldest.value);
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
      const entry = seen.get(key) ?? selectScenario(key, to);
      entry.requests++;
      const { create } = entry.scenario;
      if (create !== undefined && entry.requests <= create.times) return { scenario: entry.scenario, fault: create };
      // This request creates the call; the next request with the same number and URL is a new call.
      seen.delete(key);
      return { scenario: entry.scenario, fault: undefined };
    },
    onArrive: (scenario) => takeInjected(scenario, ({ create }) => create === undefined),
    pending: () => injected.map(({ fault, count }) => ({ fault: fault.name, count })),
  };
}
