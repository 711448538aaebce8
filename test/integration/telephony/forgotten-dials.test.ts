import { ulid } from 'ulid';
import { createActivities } from '../../../activities/create-activities.js';
import { createCallRequests } from '../../../src/calls/call-requests.js';
import { createLogger } from '../../../src/platform/telemetry/logger.js';
import { observe } from '../../../src/platform/telemetry/measurements.js';
import { createCarrierBindings } from '../../../src/telephony/carrier-bindings.js';
import { createCarriers } from '../../../src/telephony/carriers.js';
import type { DialOutcome } from '../../../src/telephony/port.js';
import { startService, type Service } from '../../support/http/harness.js';
import { newSid } from '../../support/sids.js';
import { callRequest } from '../../support/store/call-request.js';

const TO = '+12025550171';

let service: Service;
let activities: ReturnType<typeof createActivities>;
let dials = 0;
let queue: { queuedMs?: number } = {};

beforeAll(async () => {
  service = await startService({ minDeadlineMs: 0, worker: false });
  const { config, database } = service;
  const carriers = createCarriers({ config });
  const dial = async (): Promise<DialOutcome> => {
    dials += 1;
    return { outcome: 'accepted', carrierSid: newSid('CA'), ...queue };
  };
  activities = createActivities({
    config,
    database,
    carriers: { ...carriers, live: { ...carriers.live, dial } },
    logger: createLogger({ role: 'test', level: 'silent' }),
  });
}, 60_000);
afterAll(() => service.close());
beforeEach(() => {
  dials = 0;
  queue = {};
});

/** Stores the request of a call that was made some time ago. */
async function requestCall(ageMs: number): Promise<string> {
  const { account, agent } = await service.customer();
  const callId = `call_${ulid()}`;
  await createCallRequests(service.database).insert(
    callRequest({
      _id: callId,
      accountId: account._id,
      toPhoneNumber: TO,
      agentId: agent._id,
      createdAt: new Date(Date.now() - ageMs),
    }),
  );
  return callId;
}

const dial = (callId: string) =>
  activities.dialCallee({ callId, mode: 'live', ringTimeoutSeconds: 30, timeLimitSeconds: 60 });

describe('a workflow that has forgotten its dial, because the database of Temporal was restored', () => {
  it.each([0, 60_000])('continues with the call of the carrier, %s ms after the request', async (age) => {
    const callId = await requestCall(age);
    const first = await dial(callId);
    expect(first).toMatchObject({ outcome: 'accepted' });
    expect(await dial(callId)).toEqual(first);
    expect(dials).toBe(1);
  });

  it('dials nothing if the call was ended without a call of the carrier', async () => {
    const callId = await requestCall(0);
    await createCarrierBindings(service.database).close(callId);
    expect(await dial(callId)).toEqual({ outcome: 'refused', endReason: 'carrier_unreachable' });
    expect(dials).toBe(0);
  });

  it('dials a call that waited for long and was never dialed', async () => {
    expect(await dial(await requestCall(60_000))).toMatchObject({ outcome: 'accepted' });
    expect(dials).toBe(1);
  });
});

it.each([
  [undefined, 2],
  [7_000, 9],
])('a call accepted 2 s ago that the carrier queues for %s ms is dialed after %s s', async (queuedMs, seconds) => {
  queue = queuedMs === undefined ? {} : { queuedMs };
  const times: number[] = [];
  const forget = observe('callDialed', (dialed) => void times.push(dialed.seconds));
  await dial(await requestCall(2_000));
  forget();
  expect(times).toHaveLength(1);
  expect(times[0]).toBeGreaterThanOrEqual(seconds);
  expect(times[0]).toBeLessThan(seconds + 5);
});
