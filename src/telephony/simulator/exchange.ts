import type { CarrierAccount } from '../../platform/config/config.js';
import { isOver } from './call-progress.js';
import { clearLogs, newCallRecord, type CallRecord } from './call-record.js';
import { createCallQueue } from './call-queue.js';
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
  /** Lists the calls of one account that its list shows by now, newest first. */
  listOfAccount(carrierAccountId: string): CallRecord[];
  /** Lists the calls of all accounts, without those of `<Dial>`. */
  list(): CallRecord[];
  remove(sid: string): void;
  close(): void;
}

type OutboundFacts = Pick<CallRecord, 'account' | 'to' | 'from'> & Partial<Pick<CallRecord, 'timeLimitSeconds'>>;
type InboundFacts = { account: CarrierAccount; to: string; from: string; forwardedFrom?: string };

/** Maximum number of call records. Above it, the oldest ended calls are removed. */
const MAX_CALLS = 5_000;
/** Maximum number of calls with logs. Above it, the oldest ended call loses its logs. */
const MAX_LOGGED = 500;

export function createExchange(services: Omit<CarrierServices, 'enterLeg'>): Exchange {
  const calls = new Map<string, LiveCall>();
  const logged: CallRecord[] = [];
  const queue = createCallQueue();
  let closed = false;

  function dropLogs(): void {
    while (logged.length > MAX_LOGGED) {
      const ended = logged.findIndex(isOver);
      if (ended === -1) return;
      for (const call of logged.splice(ended, 1)) clearLogs(call);
    }
  }

  function remember(live: LiveCall): void {
    calls.set(live.call.sid, live);
    logged.push(live.call);
    dropLogs();
    if (calls.size <= MAX_CALLS) return;
    for (const [sid, { call }] of calls) {
      if (!isOver(call)) continue;
      calls.delete(sid);
      return;
    }
  }

  const enterLeg: CarrierServices['enterLeg'] = (leg, line, hangUp) => {
    const nothing = () => undefined;
    const others = { placeOutbound: nothing, startInbound: nothing, redirect: nothing, setTimeLimit: nothing };
    remember({ call: leg, line, ...others, hangUp, abandon: nothing });
  };

  return {
    placeOutbound(facts, plan, scenario) {
      const queuedMs = queue.join(facts.account);
      const listedAfterMs = scenario.listedAfterSeconds * 1_000 * services.timeScale;
      const known = { ...facts, direction: 'outbound-api', scenario: scenario.name, queuedMs } as const;
      const call = newCallRecord(known, listedAfterMs);
      const live = createLiveCall(call, plan, scenario, { ...services, enterLeg });
      remember(live);
      // The carrier may have been stopped while the create request was delayed.
      if (!closed) live.placeOutbound();
      return call;
    },
    startInbound(facts, plan, scenario) {
      const call = newCallRecord({ ...facts, direction: 'inbound', scenario: scenario.name });
      const live = createLiveCall(call, plan, scenario, { ...services, enterLeg });
      remember(live);
      live.startInbound();
      return call;
    },
    find: (sid) => calls.get(sid),
    listOfAccount: (carrierAccountId) =>
      [...calls.values()]
        .map(({ call }) => call)
        .filter(({ account, listedAt }) => account.carrierAccountId === carrierAccountId && listedAt <= Date.now())
        .toReversed(),
    list: () => [...calls.values()].map(({ call }) => call).filter(({ parentCallSid }) => parentCallSid === undefined),
    remove: (sid) => void calls.delete(sid),
    close() {
      closed = true;
      for (const live of calls.values()) live.abandon();
    },
  };
}
