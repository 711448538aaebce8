import { createCallRequests } from '../../src/calls/call-requests.js';
import { newCallId } from '../support/store/test-database.js';
import { expectError, type Customer } from '../support/http/harness.js';
import { managementOf } from '../support/http/management-support.js';
import { startTelephoneStack, type TelephoneStack } from './support/telephone-stack';
import { callRequest } from '../support/store/call-request.js';

const EMERGENCY = [
  // The short number is all that follows the plus sign. A carrier may dial these digits as they are.
  '+911',
  '+112',
  '+999',
  // The short number follows the country code. Some of these short numbers are in use only in another country with the
  // same country code.
  '+1911',
  '+1999',
  '+353999',
  '+44999',
  '+7112',
  '+61000',
  '+81110',
  '+240112',
  // The short number follows a national prefix that does not belong there, or further digits follow the short number.
  '+440999',
  '+490112',
  '+11911',
  '+449991',
];
const SHORT = ['+1411', '+1988', '+44118118', '+49115', '+33118712', '+124280'];
const ORDINARY = ['+12', '+123456789012345', '+12025550112', '+442079460999', '+33112345678', '+4930112112'];

let stack: TelephoneStack;
let customer: Customer;
beforeAll(async () => {
  stack = await startTelephoneStack();
  customer = await stack.service.customer();
}, 120_000);
afterAll(() => stack.close());

const order = (to: string) => ({ to_phone_number: to, instruction: 'Hello.' });

async function listDialedNumbers(): Promise<string[]> {
  return (await stack.carrierCalls()).flatMap(({ to, dials }) => [to, ...dials.map((dial) => dial.to)]);
}

describe('an emergency or short number', () => {
  it.each([...EMERGENCY, ...SHORT])('is never called by a request: %s', async (to) => {
    const { service } = stack;
    const before = await service.countCallRequests();
    expectError(await service.place(customer.liveKey, order(to)), 403, 'DESTINATION_NOT_ALLOWED');
    expectError(await service.place(customer.testKey, order(to)), 403, 'DESTINATION_NOT_ALLOWED');
    const query = new URLSearchParams({ to_phone_number: to, agent_id: customer.agent._id });
    const byQuery = await service.request(`/outbound_call?${query.toString()}`, { key: customer.liveKey });
    expectError(byQuery, 403, 'DESTINATION_NOT_ALLOWED');
    expect(await service.countCallRequests()).toBe(before);
  });

  it('is not recognized by its length: the shortest, the longest and similar ordinary numbers are called', async () => {
    const { account, liveKey } = await stack.service.customer();
    await stack.service.accounts.setLimits(account._id, { concurrentCalls: 0 });
    // The number is allowed if the call fails at the concurrency limit, because that limit is checked after the
    // destination.
    for (const to of ORDINARY) {
      const response = await stack.service.place(liveKey, order(to));
      expect([to, response.json['error_code']]).toEqual([to, 'CONCURRENCY_LIMIT_EXCEEDED']);
    }
  });

  it('is rejected as a transfer number of an agent', async () => {
    const { patch } = managementOf(stack.service);
    for (const number of ['+999', '+353999', '+440999', '+44118118']) {
      const response = await patch(`/agents/${customer.agent._id}`, customer.liveKey, {
        transfer_numbers: ['+12025550143', number],
      });
      expectError(response, 400, 'MISSING_PARAMS', /transfer_numbers: must not contain an emergency or short number/);
    }
  });

  it('is not dialed by an agent that was stored with it', async () => {
    const transferNumbers = ['+999', '+353999', '+440999', '+44118118'];
    const { transfer, scripted } = await stack.placeCall(customer, '+12025550107', { transferNumbers });
    for (const number of transferNumbers) {
      expect(await transfer(number)).toEqual({ ok: false, error: 'this number may not be called' });
    }
    scripted.sink.end('agent_hangup');
    expect(await listDialedNumbers()).not.toEqual(expect.arrayContaining([expect.stringMatching(/999|118118/)]));
  });

  it('is not dialed for a call that was stored earlier: it ends as rejected and costs nothing', async () => {
    const { service } = stack;
    const callId = newCallId();
    await createCallRequests(service.database).insert(
      callRequest({
        _id: callId,
        accountId: customer.account._id,
        toPhoneNumber: '+353999',
        agentId: customer.agent._id,
      }),
    );
    const response = await service.gateway.start(
      {
        callId,
        accountId: customer.account._id,
        mode: 'live',
        direction: 'outbound',
        agentId: customer.agent._id,
        ringTimeoutSeconds: 30,
        maxDurationSeconds: 600,
        answerWithinMs: 10_000,
        notify: false,
      },
      Date.now() + 15_000,
    );
    expect(response).toEqual({ outcome: 'granted' });
    expect(await stack.waitForEnd(callId)).toMatchObject({ status: 'FAILED', endReason: 'rejected', costMicros: 0 });
    expect(await listDialedNumbers()).not.toContain('+353999');
  });

  it('is not dialed for a transfer that was stored earlier', async () => {
    const { service } = stack;
    const { callId, scripted } = await stack.placeCall(customer, '+12025550107', {});
    scripted.sink.end('agent_hangup');
    await stack.waitForEnd(callId);
    await service.database.conversationResults.updateOne(
      { _id: callId },
      { $set: { transferTo: '+353999', endReason: 'transferred' } },
    );
    const { carrierSid } = (await service.database.carrierBindings.findById(callId).lean()) ?? {};
    const { status, text } = await service.carrierPost(`/carrier/calls/${callId}/after-stream`, {
      CallSid: String(carrierSid),
    });
    expect({ status, dials: text.includes('<Dial') }).toEqual({ status: 200, dials: false });
  });
});
