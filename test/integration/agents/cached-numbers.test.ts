import { createPhoneNumbers } from '../../../src/agents/numbers/phone-numbers.js';
import { openDatabase, type Database } from '../../../src/database.js';
import { eventually, startService, type Customer, type Service } from '../../support/http/harness.js';

const NUMBER = '+12025550177';
/** A new epoch is found within a second. Without one, the account would be read again only after ten. */
const FOUND_WITHIN_MS = 8_000;

let service: Service;
let customer: Customer;
/** The connection of another process, such as the command line. */
let other: Database;

beforeAll(async () => {
  service = await startService();
  customer = await service.customer();
  other = await openDatabase(service.config.mongodbUri);
});
afterAll(async () => {
  await other?.close();
  await service?.close();
});

/**
 * Places a call of an agent without a number. Returns the number that it comes from; undefined if the call is not placed, because
 * too many are in progress.
 */
async function callFrom(): Promise<string | undefined> {
  const answer = await service.place(customer.liveKey, {
    to_phone_number: '+12025550100',
    agent_id: customer.agent._id,
  });
  if (answer.status !== 200) return undefined;
  return (await service.database.callRequests.findById(String(answer.json['call_id'])).lean())?.fromPhoneNumber;
}

describe('phone numbers that an API process keeps with the account', () => {
  it('follow additions and removals of another process', async () => {
    const first = await callFrom();
    expect(first).toBe(service.config.carriers.live.fromNumber);

    await createPhoneNumbers(other).add({ number: NUMBER, accountId: customer.account._id });
    await eventually(async () => (await callFrom()) === NUMBER, FOUND_WITHIN_MS);

    await createPhoneNumbers(other).remove(customer.account._id, NUMBER);
    await eventually(async () => (await callFrom()) === first, FOUND_WITHIN_MS);
  });

  it('do not reject a call from a number that was added a moment ago', async () => {
    await callFrom();
    const number = '+12025550178';
    await createPhoneNumbers(other).add({ number, accountId: customer.account._id });
    const agent = await service.agents.create({
      accountId: customer.account._id,
      name: 'Own number',
      instruction: 'Greet the callee.',
      voice: 'amber',
      language: 'en-US',
      phoneNumber: number,
    });
    const answer = await service.place(customer.liveKey, { to_phone_number: '+12025550100', agent_id: agent._id });
    expect(answer.status).toBe(200);
  });
});
