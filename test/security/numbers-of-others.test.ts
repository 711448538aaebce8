import { createCallRequests } from '../../src/calls/call-requests.js';
import { newCallId } from '../support/store/test-database.js';
import { expectError } from '../support/http/harness.js';
import { startTelephoneStack, type TelephoneStack } from './support/telephone-stack';

const NUMBER = '+12025550171';
const CALLED = '+12025550106';

let stack: TelephoneStack;
beforeAll(async () => {
  stack = await startTelephoneStack();
}, 120_000);
afterAll(() => stack.close());

/** An account whose agent kept a number that another account has now, as a race of their requests can leave it. */
async function accountWithForeignNumber() {
  const { service } = stack;
  const [account, owner] = [await service.customer(), await service.customer()];
  await service.database.agents.updateOne({ _id: account.agent._id }, { phoneNumber: NUMBER });
  await service.phoneNumbers.add({ number: NUMBER, accountId: owner.account._id });
  return { account, owner };
}

describe('a number that another account has', () => {
  afterEach(() => stack.service.database.phoneNumbers.deleteMany({}));

  it('is never what a call comes from, though an agent has kept it', async () => {
    const { service } = stack;
    const { account } = await accountWithForeignNumber();
    const before = await service.callsAskedFor();
    const order = { to_phone_number: CALLED, agent_id: account.agent._id };
    expectError(await service.place(account.liveKey, order), 400, 'MISSING_PARAMS', /phone_number of this agent/);
    expect(await service.callsAskedFor()).toBe(before);
    await service.database.agents.updateOne({ _id: account.agent._id }, { $unset: { phoneNumber: '' } });
    expect((await service.place(account.liveKey, order)).status).toBe(200);
  });

  it('is not dialed from by a call that was stored before it changed hands: it ends as rejected', async () => {
    const { service } = stack;
    const { account } = await accountWithForeignNumber();
    const callId = newCallId();
    const call = { accountId: account.account._id, mode: 'live', direction: 'outbound' } as const;
    const limits = { ringTimeoutSeconds: 30, maxDurationSeconds: 600 };
    await createCallRequests(service.database).insert({
      _id: callId,
      ...call,
      ...limits,
      fromPhoneNumber: NUMBER,
      toPhoneNumber: CALLED,
      agent: { agentId: account.agent._id, instruction: 'Hello.', voice: 'amber', language: 'en-US' },
      inputParameters: '{}',
      externalCallId: '',
      createdAt: new Date(),
    });
    const answer = await service.gateway.start(
      { callId, ...call, ...limits, agentId: account.agent._id, answerWithinMs: 10_000, notify: false },
      Date.now() + 15_000,
    );
    expect(answer).toEqual({ outcome: 'granted' });
    expect(await stack.ended(callId)).toMatchObject({ status: 'FAILED', endReason: 'rejected', costMicros: 0 });
  });
});
