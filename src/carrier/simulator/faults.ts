import type { CreateFault, Scenario, Scenarios } from './scenario.js';

/** Which scenario a call follows, and what goes wrong with the request that creates it. */
export interface Faults {
  /** The next `count` calls get the callbacks and the create fault of a scenario, whatever their number. */
  inject(key: string, count: number): boolean;
  /**
   * What the n-th request for one call meets. A request is told from a repeat by number and URL, which are the same on a
   * retry and different for another call.
   */
  onCreate(to: string, url: string): { scenario: Scenario; fault: CreateFault | undefined };
  pending(): { fault: string; count: number }[];
}

/** Requests remembered to tell a repeat from a new call. */
const MAX_REMEMBERED = 10_000;

export function createFaults(scenarios: Scenarios): Faults {
  const injected: { fault: Scenario; count: number }[] = [];
  const seen = new Map<string, { scenario: Scenario; requests: number }>();

  function takeInjected(): Scenario | undefined {
    const first = injected[0];
    if (first === undefined) return undefined;
    if (--first.count <= 0) injected.shift();
    return first.fault;
  }

  function remember(key: string, to: string) {
    const ofNumber = scenarios.ofNumber(to);
    const fault = takeInjected();
    const scenario = fault === undefined ? ofNumber : { ...ofNumber, callbacks: fault.callbacks, create: fault.create };
    const entry = { scenario, requests: 0 };
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
    pending: () => injected.map(({ fault, count }) => ({ fault: fault.name, count })),
  };
}
