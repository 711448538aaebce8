import { ulid } from 'ulid';
import { createActivities } from '../../activities/create-activities.js';
import { createCallRequests } from '../../src/calls/call-requests.js';
import { createCarrierBindings } from '../../src/telephony/carrier-bindings.js';
import { createCarriers } from '../../src/telephony/carriers.js';
import type { DialOutcome } from '../../src/telephony/port.js';
import { createLogger } from '../../src/platform/telemetry/logger.js';
import { expectError, startService, type Customer, type Service } from '../support/http/harness.js';
import { newSid } from '../support/sids.js';
import { REAL_CARRIER } from './support/real-carrier.js';
import { callRequest } from '../support/store/call-request.js';

let service: Service;
/** How long the carrier queues the next calls. */
let carrierQueueMs = 0;
let activities: ReturnType<typeof createActivities>;
beforeAll(async () => {
  service = await startService({ minDeadlineMs: 0, worker: false, env: REAL_CARRIER });
  const { config, database } = service;
  const real = createCarriers({ config });
  const dial = async (): Promise<DialOutcome> => ({
    outcome: 'accepted',
    carrierSid: newSid('CA'),
    ...(carrierQueueMs > 0 && { queuedMs: carrierQueueMs }),
  });
  const carriers = { ...real, live: { ...real.live, dial } };
  activities = createActivities({
    config,
    database,
    carriers,
    logger: createLogger({ role: 'test', level: 'silent' }),
  });
}, 60_000);
afterAll(() => service.close());

/**
 * Dials a call and cancels it `afterMs` later; for the first `queuedMs` it is in the carrier's queue. Records the call as
 * its workflow would.
 */
async function ringAndCancel({ account, agent }: Customer, to: string, afterMs: number, queuedMs = 0) {
  const { database } = service;
  const callId = `call_${ulid()}`;
  const of = { callId, accountId: account._id, mode: 'live' as const };
  await createCallRequests(database).insert(
    callRequest({ _id: callId, accountId: account._id, toPhoneNumber: to, agentId: agent._id }),
  );
  const change = { callId, at: Date.now(), sequence: 1, status: 'RINGING' as const };
  const reserved = await activities.reserveCall({ ...of, maxDurationSeconds: 600, change });
  expect(reserved).toMatchObject({ outcome: 'granted' });
  carrierQueueMs = queuedMs;
  const dialed = await activities.dialCallee({ callId, mode: 'live', ringTimeoutSeconds: 30, timeLimitSeconds: 600 });
  const binding = await createCarrierBindings(database).find(callId);
  const { carrierSid, boundAt } = binding ?? { carrierSid: newSid('CA'), boundAt: new Date() };
  const endTime = boundAt.getTime() + afterMs;
  const settled = { ...of, billableSeconds: 0, estimated: false, conversation: 'none' as const };
  const ended = { callId, at: endTime, status: 'CANCELLED' as const, endReason: 'api_hangup' as const, endTime };
  // Settles twice, because Temporal may run an activity again.
  for (let n = 0; n < 2; n++) {
    await activities.settleCall({ ...settled, change: { ...ended, sequence: 2, carrierSid } });
  }
  return dialed.outcome === 'accepted';
}

const ask = ({ liveKey }: Customer, to: string) =>
  service.place(liveKey, { to_phone_number: to, instruction: 'Hello.' });

describe('calls that their account cancels at once', () => {
  it('do not block a number for other accounts, and stay limited for their own', async () => {
    const to = '+12025550161';
    const [attacker, other] = [await service.customer(), await service.customer()];
    for (let n = 0; n < 3; n++) expect(await ringAndCancel(attacker, to, 200)).toBe(true);
    expectError(await ask(attacker, to), 403, 'SPEND_LIMIT_EXCEEDED', /limit of unanswered attempts/);
    expect(await ringAndCancel(attacker, to, 200)).toBe(false);
    // No worker decides this call, so the response is 503. The API itself must not reject the call.
    expectError(await ask(other, to), 503, 'SERVICE_UNAVAILABLE');
    expect(await ringAndCancel(other, to, 200)).toBe(true);
  }, 60_000);

  it('do not block a number for other accounts if the carrier queues them before it dials', async () => {
    const to = '+12025550163';
    for (let n = 0; n < 3; n++) expect(await ringAndCancel(await service.customer(), to, 10_000, 20_000)).toBe(true);
    for (let n = 0; n < 3; n++) expect(await ringAndCancel(await service.customer(), to, 22_000, 20_000)).toBe(true);
    expectError(await ask(await service.customer(), to), 503, 'SERVICE_UNAVAILABLE');
  }, 60_000);

  it('count as unanswered attempts for all accounts when they rang for several seconds', async () => {
    const to = '+12025550162';
    const [one, other] = [await service.customer(), await service.customer()];
    for (let n = 0; n < 3; n++) expect(await ringAndCancel(one, to, 3_500)).toBe(true);
    for (let n = 0; n < 2; n++) expect(await ringAndCancel(await service.customer(), to, 3_500)).toBe(true);
    expectError(await ask(other, to), 403, 'SPEND_LIMIT_EXCEEDED', /limit of unanswered attempts/);
  }, 60_000);
});
