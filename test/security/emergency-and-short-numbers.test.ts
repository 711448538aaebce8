import { createCallRequests } from '../../src/calls/call-requests.js';
import { newCallId } from '../support/store/test-database.js';
import { expectError, type Customer } from '../support/http/harness.js';
import { managementOf } from '../support/http/management-support.js';
import { startTelephoneStack, type TelephoneStack } from './support/telephone-stack';

const EMERGENCY = [
  // The whole digits, which a carrier may take for what is dialed.
  '+911',
  '+112',
  '+999',
  // Behind the country code, also where another country of the same code has the number.
  '+1911',
  '+1999',
  '+353999',
  '+44999',
  '+7112',
  '+61000',
  '+81110',
  '+240112',
  // Behind a national prefix that was written in, and before further digits.
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

async function dialedNumbers(): Promise<string[]> {
  return (await stack.carried()).flatMap(({ to, dials }) => [to, ...dials.map((dial) => dial.to)]);
}

describe('an emergency or short number', () => {
  it.each([...EMERGENCY, ...SHORT])('is never called by a request: %s', async (to) => {
    const { service } = stack;
    const before = await service.callsAskedFor();
    expectError(await service.place(customer.liveKey, order(to)), 403, 'DESTINATION_NOT_ALLOWED');
    expectError(await service.place(customer.testKey, order(to)), 403, 'DESTINATION_NOT_ALLOWED');
    const query = new URLSearchParams({ to_phone_number: to, agent_id: customer.agent._id });
    const asked = await service.request(`/outbound_call?${query.toString()}`, { key: customer.liveKey });
    expectError(asked, 403, 'DESTINATION_NOT_ALLOWED');
    expect(await service.callsAskedFor()).toBe(before);
  });

  it('is not told by its length: the shortest and longest numbers, and ordinary ones that look alike, are called', async () => {
    const { account, liveKey } = await stack.service.customer();
    await stack.service.accounts.setLimits(account._id, { concurrentCalls: 0 });
    // Told after the destination.
    for (const to of ORDINARY) {
      const answer = await stack.service.place(liveKey, order(to));
      expect([to, answer.json['error_code']]).toEqual([to, 'CONCURRENCY_LIMIT_EXCEEDED']);
    }
  });

  it('is no number that an agent may transfer to', async () => {
    const { patch } = managementOf(stack.service);
    for (const number of ['+999', '+353999', '+440999', '+44118118']) {
      const answer = await patch(`/agents/${customer.agent._id}`, customer.liveKey, {
        transfer_numbers: ['+12025550143', number],
      });
      expectError(answer, 400, 'MISSING_PARAMS', /transfer_numbers: must hold no emergency or short number/);
    }
  });

  it('is not dialed by an agent that got it before', async () => {
    const transferNumbers = ['+999', '+353999', '+440999', '+44118118'];
    const { transfer, scripted } = await stack.talk(customer, '+12025550107', { transferNumbers });
    for (const number of transferNumbers) {
      expect(await transfer(number)).toEqual({ ok: false, error: 'this number may not be called' });
    }
    scripted.sink.end('agent_hangup');
    expect(await dialedNumbers()).not.toEqual(expect.arrayContaining([expect.stringMatching(/999|118118/)]));
  });

  it('is not dialed by a call that was stored before: it ends as rejected and costs nothing', async () => {
    const { service } = stack;
    const callId = newCallId();
    await createCallRequests(service.database).insert({
      _id: callId,
      accountId: customer.account._id,
      mode: 'live',
      direction: 'outbound',
      fromPhoneNumber: '+12025550199',
      toPhoneNumber: '+353999',
      agent: { agentId: customer.agent._id, instruction: 'Hello.', voice: 'amber', language: 'en-US' },
      inputParameters: '{}',
      externalCallId: '',
      ringTimeoutSeconds: 30,
      maxDurationSeconds: 600,
      createdAt: new Date(),
    });
    const answer = await service.gateway.start(
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
    expect(answer).toEqual({ outcome: 'granted' });
    expect(await stack.ended(callId)).toMatchObject({ status: 'FAILED', endReason: 'rejected', costMicros: 0 });
    expect(await dialedNumbers()).not.toContain('+353999');
  });

  it('is not dialed by the instructions of a transfer that was stored before', async () => {
    const { service } = stack;
    const { callId, scripted } = await stack.talk(customer, '+12025550107', {});
    scripted.sink.end('agent_hangup');
    await stack.ended(callId);
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
