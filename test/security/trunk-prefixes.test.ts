import { createCallRequests } from '../../src/calls/call-requests.js';
import { newCallId } from '../support/store/test-database.js';
import { expectError, type Customer } from '../support/http/harness.js';
import { managementOf } from '../support/http/management-support.js';
import { createRateDeckFile } from './support/rate-deck-file.js';
import { startTelephoneStack, type TelephoneStack } from './support/telephone-stack';
import { callRequest } from '../support/store/call-request.js';

/** Numbers that rules would reject or price by their prefix. They are spelled so that the prefix does not match. */
const MISSPELLED = [
  '+4409012345678',
  '+4407012345678',
  '+4407700900123',
  '+118765551234',
  '+1118765551234',
  '+330899123456',
  '+4909001123456',
  '+6101901123456',
  '+32090012345',
  '+788001234567',
  '+360690123456',
  '+5215512345678',
  // Numbers that are unknown to the numbering plans or impossible. A network may nevertheless route them like the
  // correct number.
  '+44009012345678',
  '+440901234567890',
  '+36069012345',
  '+7888001234567',
  '+44090',
  '+101153123456',
];
/** Ordinary numbers. Some contain zeros that are part of the number. */
const SPELLED_WELL = [
  '+12',
  '+123456789012345',
  '+12025550100',
  '+12025550198',
  '+442079460999',
  '+390612345678',
  '+2250712345678',
  '+5491112345678',
  '+9991234567',
];

const order = (to: string) => ({ to_phone_number: to, instruction: 'Hello.' });
const deck = createRateDeckFile('prefix,micro_usd_per_second\n1,2500\n44,2500\n447,4000\n');

let stack: TelephoneStack;
let customer: Customer;
beforeAll(async () => {
  stack = await startTelephoneStack({ env: { RATE_DECK_FILE: deck.path } });
  customer = await stack.service.customer();
}, 120_000);
afterAll(async () => {
  await stack.close();
  deck.remove();
});

/** Runs a call that the agent has ended. */
async function endedCall(): Promise<string> {
  const { callId, scripted } = await stack.placeCall(customer, '+12025550107', {});
  scripted.sink.end('agent_hangup');
  await stack.waitForEnd(callId);
  return callId;
}

describe('a number with a trunk prefix after its country code', () => {
  it.each(MISSPELLED)('evades no rule by its spelling: %s', async (to) => {
    const { service } = stack;
    const before = await service.countCallRequests();
    const rejection = await service.place(customer.liveKey, order(to));
    expectError(rejection, 403, 'DESTINATION_NOT_ALLOWED', /E\.164 format without the national trunk prefix/);
    expectError(await service.place(customer.testKey, order(to)), 403, 'DESTINATION_NOT_ALLOWED');
    expect(await service.countCallRequests()).toBe(before);
  });

  it('is not confused with an ordinary number, whatever its length and zeros', async () => {
    const { account, liveKey } = await stack.service.customer();
    await stack.service.accounts.setLimits(account._id, { concurrentCalls: 0 });
    // The number is allowed if the call fails at the concurrency limit, because that limit is checked after the
    // destination.
    for (const to of SPELLED_WELL) {
      const response = await stack.service.place(liveKey, order(to));
      expect([to, response.json['error_code']]).toEqual([to, 'CONCURRENCY_LIMIT_EXCEEDED']);
    }
  });

  it('is rejected as a transfer number of an agent', async () => {
    const { patch } = managementOf(stack.service);
    for (const number of MISSPELLED) {
      const response = await patch(`/agents/${customer.agent._id}`, customer.liveKey, { transfer_numbers: [number] });
      expectError(response, 400, 'MISSING_PARAMS', /transfer_numbers: must be in E\.164 format without/);
    }
  });

  it('is not dialed by an agent that was stored with it', async () => {
    const transferNumbers = ['+4409012345678', '+118765551234'];
    const { transfer, scripted } = await stack.placeCall(customer, '+12025550107', { transferNumbers });
    for (const number of transferNumbers) {
      expect(await transfer(number)).toEqual({ ok: false, error: 'this number may not be called' });
    }
    scripted.sink.end('agent_hangup');
  });

  it('is not dialed for a transfer that was stored earlier', async () => {
    const { service } = stack;
    const callId = await endedCall();
    await service.database.conversationResults.updateOne(
      { _id: callId },
      { $set: { transferTo: '+4409012345678', endReason: 'transferred' } },
    );
    const { carrierSid } = (await service.database.carrierBindings.findById(callId).lean()) ?? {};
    const { status, text } = await service.carrierPost(`/carrier/calls/${callId}/after-stream`, {
      CallSid: String(carrierSid),
    });
    expect({ status, dials: text.includes('<Dial') }).toEqual({ status: 200, dials: false });
  });

  it('is not dialed for a call that was stored earlier: it ends as rejected and costs nothing', async () => {
    const { service } = stack;
    const callId = newCallId();
    const call = { accountId: customer.account._id, mode: 'live', direction: 'outbound' } as const;
    const limits = { ringTimeoutSeconds: 30, maxDurationSeconds: 600 };
    await createCallRequests(service.database).insert(
      callRequest({ _id: callId, ...call, toPhoneNumber: '+4409012345678', agentId: customer.agent._id }),
    );
    const response = await service.gateway.start(
      { callId, ...call, ...limits, agentId: customer.agent._id, answerWithinMs: 10_000, notify: false },
      Date.now() + 15_000,
    );
    expect(response).toEqual({ outcome: 'granted' });
    expect(await stack.waitForEnd(callId)).toMatchObject({ status: 'FAILED', endReason: 'rejected', costMicros: 0 });
    const numbers = (await stack.carrierCalls()).flatMap(({ to, dials }) => [to, ...dials.map((dial) => dial.to)]);
    expect(numbers).not.toContain('+4409012345678');
  });
});
