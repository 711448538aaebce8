import { setTimeout as sleep } from 'node:timers/promises';
import { ulid } from 'ulid';
import { createActivities } from '../../activities/create-activities.js';
import { CallServiceUnavailable, type CallGateway } from '../../src/calls/gateway.js';
import { createCallRequests } from '../../src/calls/call-requests.js';
import { createIdempotencyKeys } from '../../src/calls/placing/idempotency-keys.js';
import { createGivenUpCalls } from '../../src/calls/placing/given-up-calls.js';
import { startCall } from '../../src/calls/placing/start-call.js';
import { createCallProjection } from '../../src/calls/projection.js';
import { createLedger } from '../../src/billing/ledger/ledger.js';
import { reduceCall } from '../../src/calls/call-reducer.js';
import type { CallEvent } from '../../src/calls/call-events.js';
import type { ReservationResult } from '../../src/kernel/call-signals.js';
import { newCall } from '../../src/kernel/call-state.js';
import { ledgerAccountId } from '../../src/kernel/ids.js';
import { createLogger } from '../../src/platform/telemetry/logger.js';
import { createCarriers } from '../../src/telephony/carriers.js';
import { eventually, startService, type Service } from '../support/http/harness.js';
import { decisionsOf } from './support/call-decisions.js';
import { callRequest } from '../support/store/call-request.js';

const logger = createLogger({ role: 'test', level: 'silent' });

let service: Service;
beforeAll(async () => {
  service = await startService();
}, 120_000);
afterAll(() => service.close(), 60_000);

/** Creates the document that the service stores for a requested call. */
async function newCallDocument() {
  const { account, agent } = await service.customer();
  return callRequest({
    _id: `call_${ulid()}`,
    accountId: account._id,
    toPhoneNumber: '+12025550102',
    agentId: agent._id,
  });
}

const starter = (start: CallGateway['start']) => ({
  config: service.config,
  gateway: { ...service.gateway, start },
  requests: createCallRequests(service.database),
  ...decisionsOf(service),
});

/** Starts the call, but its response does not arrive. */
const startAndLoseResponse: CallGateway['start'] = async (input, deadline) => {
  await service.gateway.start(input, deadline);
  throw new CallServiceUnavailable();
};

/** Counts the calls of an account that its clients can see. */
const visibleCalls = (accountId: string) => service.database.calls.countDocuments({ accountId });

/**
 * Waits until the account has no holds, because a workflow that rejects a late call responds before it releases the
 * call's holds.
 */
const waitForNoHolds = (accountId: string) =>
  eventually(
    async () => (await createLedger(service.database).balance(ledgerAccountId(accountId, 'live'))).heldMicros === 0,
  );

describe('a call whose request got a 503', () => {
  it('is never dialed when its start reaches Temporal later', async () => {
    let arriveLate: (() => Promise<ReservationResult>) | undefined;
    const call = await newCallDocument();
    const deps = starter(async (input, deadline) => {
      arriveLate = () => service.gateway.start(input, Date.now() + 10_000);
      await sleep(deadline - Date.now());
      throw new CallServiceUnavailable();
    });
    await expect(startCall(deps, call, Date.now() + 1_000)).rejects.toBeInstanceOf(CallServiceUnavailable);
    expect(await arriveLate?.()).toEqual({ outcome: 'expired' });
    expect(await visibleCalls(call.accountId)).toBe(0);
    await waitForNoHolds(call.accountId);
  }, 60_000);

  it('is never dialed when the API process dies before it gives the call up', async () => {
    const call = await newCallDocument();
    await createCallRequests(service.database).insert(call);
    const { clock } = decisionsOf(service);
    const input = {
      callId: call._id,
      accountId: call.accountId,
      mode: call.mode,
      direction: call.direction,
      agentId: call.agent.agentId,
      ringTimeoutSeconds: 30,
      maxDurationSeconds: 600,
      answerWithinMs: 10_000,
      decideBy: (await clock()) - 1,
      notify: false,
    };
    expect(await service.gateway.start(input, Date.now() + 10_000)).toEqual({ outcome: 'expired' });
    expect(await visibleCalls(call.accountId)).toBe(0);
    await waitForNoHolds(call.accountId);
  }, 60_000);

  it('was never placed: a placed call gets its 200, even if the response of its workflow is lost', async () => {
    const call = await newCallDocument();
    const deps = starter(startAndLoseResponse);
    const result = await startCall(deps, call, Date.now() + 10_000).catch(() => 'ask again');
    expect({ result, visibleCalls: await visibleCalls(call.accountId) }).toEqual({
      result: { outcome: 'granted' },
      visibleCalls: 1,
    });
  }, 60_000);

  it('ends unbilled as soon as the database is available again, if it was unavailable at the deadline', async () => {
    const call = await newCallDocument();
    let tries = 0;
    const projection = {
      giveUp: (callId: string) =>
        ++tries < 3 ? Promise.reject(new Error('away')) : createCallProjection(service.database).giveUp(callId),
    };
    const hungUp: string[] = [];
    const gateway = {
      hangUp: async (callId: string, signal: Parameters<CallGateway['hangUp']>[1]) => {
        if (tries < 3) throw new CallServiceUnavailable();
        hungUp.push(signal.cause);
        return service.gateway.hangUp(callId, signal);
      },
    };
    const deps = {
      ...starter(startAndLoseResponse),
      givenUpCalls: createGivenUpCalls({ projection, gateway, logger }),
    };
    await expect(startCall(deps, call, Date.now() + 10_000)).rejects.toBeInstanceOf(CallServiceUnavailable);
    await eventually(async () => hungUp.length > 0);
    expect(hungUp).toEqual(['expired']);
    const ended = await eventually(async () => {
      const found = await service.database.calls.findById(call._id).lean();
      return found?.status === 'FAILED' ? found : undefined;
    });
    expect(ended).toMatchObject({ costMicros: 0 });
    await waitForNoHolds(call.accountId);
  }, 60_000);

  describe('of a key that another request uses, too', () => {
    /** Starts a call whose response is lost while the database is unavailable. It has begun, but its request gets a 503. */
    async function loseResponse() {
      const call = await newCallDocument();
      const keys = createIdempotencyKeys(service.database);
      const owner = { accountId: call.accountId, mode: call.mode, key: call._id };
      const { row } = await keys.claim(owner, { bodyHash: 'h', callId: call._id });
      const database = { isDown: true, asked: 0 };
      const projection = {
        giveUp(callId: string) {
          if (database.isDown) return Promise.reject(new Error('away'));
          database.asked += 1;
          return createCallProjection(service.database).giveUp(callId);
        },
      };
      const hungUp: string[] = [];
      const gateway = {
        hangUp(callId: string, signal: Parameters<CallGateway['hangUp']>[1]) {
          hungUp.push(signal.cause);
          return service.gateway.hangUp(callId, signal);
        },
      };
      const deps = {
        ...starter(startAndLoseResponse),
        givenUpCalls: createGivenUpCalls({ projection, gateway, logger }),
      };
      const terms = { mayHangUp: () => keys.disown(row, 'call_01JD3Q4Z6WX8Y2V7T5R9S1K0MN') };
      await expect(startCall(deps, call, Date.now() + 10_000, terms)).rejects.toBeInstanceOf(CallServiceUnavailable);
      return { row, owner, keys, hungUp, database };
    }
    const placed = { status: 200, body: {} };

    it('goes ahead if the other request got a 200 for it', async () => {
      const { row, keys, hungUp, database } = await loseResponse();
      expect(await keys.storeResponse(row, placed)).toBe('stored');
      database.isDown = false;
      await eventually(async () => database.asked > 0);
      await sleep(500);
      expect(hungUp).toEqual([]);
    }, 60_000);

    it('is hung up if no request got one, and the other one gets another call', async () => {
      const { row, owner, keys, hungUp, database } = await loseResponse();
      database.isDown = false;
      await eventually(async () => hungUp.length > 0);
      expect(hungUp).toEqual(['expired']);
      expect(await keys.storeResponse(row, placed)).toBe('moved');
      expect(await keys.find(owner)).toMatchObject({ callId: 'call_01JD3Q4Z6WX8Y2V7T5R9S1K0MN' });
    }, 60_000);
  });
});

it('a call that is hung up because its request got a 503 is not billed, even if it was answered', () => {
  const end = { status: 'completed' as const, at: 9_000, durationSeconds: 4 };
  const events: CallEvent[] = [
    { type: 'reserved', now: 1_000 },
    { type: 'dial_accepted', carrierSid: 'CA1', now: 2_000 },
    { type: 'carrier_answered', carrierSid: 'CA1', at: 5_000, now: 5_000 },
    { type: 'hang_up_requested', cause: 'expired', now: 6_000 },
    { type: 'media_ended', end: { reason: 'carrier_stop', at: 9_000, agentAudioPlayed: true }, now: 9_000 },
    { type: 'carrier_ended', carrierSid: 'CA1', end, now: 9_000 },
  ];
  const effects: string[] = [];
  let state = newCall('outbound');
  for (const event of events) {
    const reduction = reduceCall(state, event);
    ({ state } = reduction);
    effects.push(...reduction.effects.map(({ type }) => type));
  }
  expect(effects).toContain('hang_up');
  expect(state.outcome).toMatchObject({ status: 'FAILED', endReason: 'expired', billableSeconds: 0 });
  // A call that has not been dialed yet ends at once.
  const { state: undialed } = reduceCall(newCall('outbound'), { type: 'hang_up_requested', cause: 'expired', now: 1 });
  expect(undialed.outcome).toMatchObject({ status: 'FAILED', endReason: 'expired', billableSeconds: 0 });
});

describe('a reservation whose step fails or times out', () => {
  const stepOf = async () => {
    const call = await newCallDocument();
    await createCallRequests(service.database).insert(call);
    const change = { callId: call._id, sequence: 1, at: Date.now() };
    const { _id: callId, accountId, mode, maxDurationSeconds } = call;
    return { callId, accountId, mode, maxDurationSeconds, change };
  };
  const activities = () => {
    const { config, database } = service;
    return createActivities({ config, database, logger, carriers: createCarriers({ config }) });
  };

  it('goes ahead when its call has begun, because its client may know of it', async () => {
    const step = await stepOf();
    const steps = activities();
    const reserved = await steps.reserveCall(step);
    expect(reserved).toEqual({ outcome: 'granted', heldSeconds: 60 });
    expect(await steps.concludeReservation(step)).toEqual(reserved);
    // The result is the same in an attempt after the deadline.
    expect(await steps.reserveCall({ ...step, decideBy: 1 })).toEqual(reserved);
    expect(await visibleCalls(step.accountId)).toBe(1);
  }, 60_000);

  it('never goes ahead when its call has not begun, however late an attempt ends', async () => {
    const step = await stepOf();
    const steps = activities();
    expect(await steps.concludeReservation(step)).toEqual({ outcome: 'expired' });
    expect(await steps.reserveCall(step)).toEqual({ outcome: 'expired' });
    await steps.abandonCall({ ...step, expired: true });
    expect(await visibleCalls(step.accountId)).toBe(0);
    await waitForNoHolds(step.accountId);
  }, 60_000);
});
