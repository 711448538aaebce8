import { createCallRequests } from '../../src/calls/call-requests.js';
import { newCallId } from '../support/store/test-database.js';
import { expectError } from '../support/http/harness.js';
import { startTelephoneStack, type TelephoneStack } from './support/telephone-stack';
import { callRequest } from '../support/store/call-request.js';

const NUMBER = '+12025550171';
const CALLED = '+12025550106';

let stack: TelephoneStack;
beforeAll(async () => {
  stack = await startTelephoneStack();
}, 120_000);
afterAll(() => stack.close());

/**
 * Creates an account whose agent still has a number that now belongs to another account. Two requests at the same
 * moment can lead to this state.
 */
async function accountWithForeignNumber() {
  const { service } = stack;
  const [account, owner] = [await service.customer(), await service.customer()];
  await service.database.agents.updateOne({ _id: account.agent._id }, { phoneNumber: NUMBER });
  await service.phoneNumbers.add({ number: NUMBER, accountId: owner.account._id });
  return { account, owner };
}

describe('a number of another account', () => {
  afterEach(() => stack.service.database.phoneNumbers.deleteMany({}));

  it('is never used to place a call, even if an agent has kept it', async () => {
    const { service } = stack;
    const { account } = await accountWithForeignNumber();
    const before = await service.countCallRequests();
    const order = { to_phone_number: CALLED, agent_id: account.agent._id };
    expectError(await service.place(account.liveKey, order), 400, 'MISSING_PARAMS', /phone_number of this agent/);
    expect(await service.countCallRequests()).toBe(before);
    await service.database.agents.updateOne({ _id: account.agent._id }, { $unset: { phoneNumber: '' } });
    expect((await service.place(account.liveKey, order)).status).toBe(200);
  });

  it('is not used by a call that was stored earlier: the call ends as rejected', async () => {
    const { service } = stack;
    const { account } = await accountWithForeignNumber();
    const callId = newCallId();
    const call = { accountId: account.account._id, mode: 'live', direction: 'outbound' } as const;
    const limits = { ringTimeoutSeconds: 30, maxDurationSeconds: 600 };
    const agentId = account.agent._id;
    await createCallRequests(service.database).insert(
      callRequest({ _id: callId, ...call, fromPhoneNumber: NUMBER, toPhoneNumber: CALLED, agentId }),
    );
    const response = await service.gateway.start(
      { callId, ...call, ...limits, agentId, answerWithinMs: 10_000, notify: false },
      Date.now() + 15_000,
    );
    expect(response).toEqual({ outcome: 'granted' });
    expect(await stack.waitForEnd(callId)).toMatchObject({ status: 'FAILED', endReason: 'rejected', costMicros: 0 });
  });
});
