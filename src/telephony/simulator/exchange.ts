import type { CarrierAccount } from '../../platform/config/config.js';
import { isOver } from './call-progress.js';
import { newCallRecord, type CallRecord } from './call-record.js';
import { createLiveCall, type CallPlan, type LiveCall } from './live-call.js';
import type { Plant } from './plant.js';
import type { Scenario } from './scenario.js';

/** All calls of the simulated carrier, oldest first. */
export interface Exchange {
  /** Dials. The scenario is the one returned by `Faults.onCreate`. */
  place(facts: OutboundFacts, plan: CallPlan, scenario: Scenario): CallRecord;
  /** Starts an inbound call to the customer. */
  arrive(facts: InboundFacts, plan: CallPlan, scenario: Scenario): CallRecord;
  find(sid: string): LiveCall | undefined;
  /** Calls of one account, newest first. */
  ofAccount(carrierAccountId: string): CallRecord[];
  all(): CallRecord[];
  remove(sid: string): void;
  close(): void;
}

type OutboundFacts = Pick<CallRecord, 'account' | 'to' | 'from'> & Partial<Pick<CallRecord, 'timeLimitSeconds'>>;
type InboundFacts = { account: CarrierAccount; to: string; from: string; forwardedFrom?: string };

/** Maximum number of call records; the oldest ended ones are removed first. */
const MAX_CALLS = 5_000;
/** Maximum number of calls with a recording; the oldest ended ones lose it first, then the oldest in progress. */
const MAX_RECORDINGS = 50;

export function createExchange(plant: Plant): Exchange {
  const calls = new Map<string, LiveCall>();
  const recorded: LiveCall[] = [];
  let closed = false;

  function enter(live: LiveCall): void {
    calls.set(live.call.sid, live);
    recorded.push(live);
    if (recorded.length > MAX_RECORDINGS) {
      const ended = recorded.findIndex(({ call }) => isOver(call));
      recorded.splice(Math.max(0, ended), 1)[0]?.line.forget();
    }
    if (calls.size <= MAX_CALLS) return;
    for (const [sid, { call }] of calls) {
      if (!isOver(call)) continue;
      calls.delete(sid);
      return;
    }
  }

  return {
    place(facts, plan, scenario) {
      const call = newCallRecord({ ...facts, direction: 'outbound-api', scenario: scenario.name });
      const live = createLiveCall(call, plan, scenario, plant);
      enter(live);
      // The carrier may have been stopped while the create request was delayed.
      if (!closed) live.place();
      return call;
    },
    arrive(facts, plan, scenario) {
      const call = newCallRecord({ ...facts, direction: 'inbound', scenario: scenario.name });
      const live = createLiveCall(call, plan, scenario, plant);
      enter(live);
      live.arrive();
      return call;
    },
    find: (sid) => calls.get(sid),
    ofAccount: (carrierAccountId) =>
      [...calls.values()]
        .map(({ call }) => call)
        .filter((call) => call.account.carrierAccountId === carrierAccountId)
        .toReversed(),
    all: () => [...calls.values()].map(({ call }) => call),
    remove: (sid) => void calls.delete(sid),
    close() {
      closed = true;
      for (const live of calls.values()) live.abandon();
    },
  };
}
