import type { CarrierAccount } from '../../platform/config/config.js';
import { isOver } from './call-progress.js';
import { newCallRecord, type CallRecord } from './call-record.js';
import { createLiveCall, type CallPlan, type LiveCall } from './live-call.js';
import type { CarrierServices } from './carrier-services.js';
import type { Scenario } from './scenario.js';

/** Manages all calls of the simulated carrier. */
export interface Exchange {
  /** Places an outbound call. The scenario is the one that `Faults.onCreate` returned. */
  placeOutbound(facts: OutboundFacts, plan: CallPlan, scenario: Scenario): CallRecord;
  /** Starts an inbound call to the carrier's customer. */
  startInbound(facts: InboundFacts, plan: CallPlan, scenario: Scenario): CallRecord;
  find(sid: string): LiveCall | undefined;
  /** Lists the calls of one account, newest first. */
  listOfAccount(carrierAccountId: string): CallRecord[];
  list(): CallRecord[];
  remove(sid: string): void;
  close(): void;
}

type OutboundFacts = Pick<CallRecord, 'account' | 'to' | 'from'> & Partial<Pick<CallRecord, 'timeLimitSeconds'>>;
type InboundFacts = { account: CarrierAccount; to: string; from: string; forwardedFrom?: string };

/** Maximum number of call records. Above it, the oldest ended calls are removed. */
const MAX_CALLS = 5_000;
/**
 * Maximum number of calls with a recording. Above it, the oldest ended calls lose theirs, then the oldest in progress.
 */
const MAX_RECORDINGS = 50;

export function createExchange(services: CarrierServices): Exchange {
  const calls = new Map<string, LiveCall>();
  const recorded: LiveCall[] = [];
  let closed = false;

  function enter(live: LiveCall): void {
    calls.set(live.call.sid, live);
    recorded.push(live);
    if (recorded.length > MAX_RECORDINGS) {
      const ended = recorded.findIndex(({ call }) => isOver(call));
      recorded.splice(Math.max(0, ended), 1)[0]?.line.discardRecording();
    }
    if (calls.size <= MAX_CALLS) return;
    for (const [sid, { call }] of calls) {
      if (!isOver(call)) continue;
      calls.delete(sid);
      return;
    }
  }

  return {
    placeOutbound(facts, plan, scenario) {
      const call = newCallRecord({ ...facts, direction: 'outbound-api', scenario: scenario.name });
      const live = createLiveCall(call, plan, scenario, services);
      enter(live);
      // The carrier may have been stopped while the create request was delayed.
      if (!closed) live.placeOutbound();
      return call;
    },
    startInbound(facts, plan, scenario) {
      const call = newCallRecord({ ...facts, direction: 'inbound', scenario: scenario.name });
      const live = createLiveCall(call, plan, scenario, services);
      enter(live);
      live.startInbound();
      return call;
    },
    find: (sid) => calls.get(sid),
    listOfAccount: (carrierAccountId) =>
      [...calls.values()]
        .map(({ call }) => call)
        .filter((call) => call.account.carrierAccountId === carrierAccountId)
        .toReversed(),
    list: () => [...calls.values()].map(({ call }) => call),
    remove: (sid) => void calls.delete(sid),
    close() {
      closed = true;
      for (const live of calls.values()) live.abandon();
    },
  };
}
