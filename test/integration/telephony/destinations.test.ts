import { expectError, startService, type Customer, type Service } from '../../support/http/harness.js';

let service: Service;
beforeAll(async () => {
  service = await startService();
}, 120_000);
afterAll(() => service.close());

const callRequest = (to: string) => ({ to_phone_number: to, instruction: 'Hello.' });

async function balanceOf(customer: Customer) {
  return service.database.ledgerAccounts.findById(`${customer.account._id}~live#0`).lean();
}

describe('a destination that is not allowed', () => {
  it.each([
    ['an emergency number', '+1911', {}],
    ['a high-risk prefix', '+19005550123', {}],
    ['an island that shares +1', '+18765550123', { allowedCountryPrefixes: ['+1'] }],
    ['another country', '+442071234567', { allowedCountryPrefixes: ['+1'] }],
    ['a blocked prefix', '+12125550123', { destinationCaps: [{ prefix: '+1212', blocked: true }] }],
    ['an emergency number that a rule allows', '+1911', { destinationCaps: [{ prefix: '+1911' }] }],
  ])('is rejected with 403 before any call, hold or workflow: %s', async (_name, to, limits) => {
    const customer = await service.customer();
    await service.accounts.setLimits(customer.account._id, limits);
    const before = await service.countCallRequests();
    expectError(await service.place(customer.liveKey, callRequest(to)), 403, 'DESTINATION_NOT_ALLOWED');
    expect(await service.countCallRequests()).toBe(before);
    expect(await balanceOf(customer)).toMatchObject({ heldMicros: 0 });
  });

  it('is reported after an unknown agent, and before the concurrency limit and the balance', async () => {
    const customer = await service.customer(0);
    await service.accounts.setLimits(customer.account._id, { concurrentCalls: 0 });
    const unknown = { to_phone_number: '+19005550123', agent_id: 'agent_00000000000000000000000000' };
    expectError(await service.place(customer.liveKey, unknown), 404, 'AGENT_NOT_FOUND');
    expectError(await service.place(customer.liveKey, callRequest('+19005550123')), 403, 'DESTINATION_NOT_ALLOWED');
    expectError(await service.place(customer.liveKey, callRequest('+12025550123')), 429, 'CONCURRENCY_LIMIT_EXCEEDED');
  });
});

describe('a cap on calls to a prefix', () => {
  it('accepts exactly its number of calls, then responds with 403 SPEND_LIMIT_EXCEEDED before any call, hold or workflow', async () => {
    const customer = await service.customer();
    const destinationCaps = [{ prefix: '+1900', callsPerHour: 2 }];
    await service.accounts.setLimits(customer.account._id, { destinationCaps });
    const before = await service.countCallRequests();
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => service.place(customer.liveKey, callRequest('+19005550123'))),
    );
    const rejected = answers.filter(({ status }) => status === 403);
    expect(rejected).toHaveLength(4);
    expect(await service.countCallRequests()).toBe(before + 2);
    for (const answer of rejected) expectError(answer, 403, 'SPEND_LIMIT_EXCEEDED', /2 calls per hour .* \+1900/);
    expectError(await service.place(customer.liveKey, callRequest('+19005550199')), 403, 'SPEND_LIMIT_EXCEEDED');
    expect((await service.place(customer.liveKey, callRequest('+12025550123'))).status).toBe(200);
  });

  it('does not count a call that was rejected for lack of balance', async () => {
    const customer = await service.customer(0);
    const destinationCaps = [{ prefix: '+1202', callsPerDay: 1 }];
    await service.accounts.setLimits(customer.account._id, { destinationCaps });
    for (let i = 0; i < 3; i++) {
      expectError(await service.place(customer.liveKey, callRequest('+12025550123')), 402, 'INSUFFICIENT_BALANCE');
    }
  });

  it('counts a repeated request with an Idempotency-Key once', async () => {
    const customer = await service.customer();
    const destinationCaps = [{ prefix: '+1202', callsPerDay: 1 }];
    await service.accounts.setLimits(customer.account._id, { destinationCaps });
    const place = () => service.place(customer.liveKey, callRequest('+12025550123'), { 'Idempotency-Key': 'k1' });
    const [first, second] = [await place(), await place()];
    expect([first.status, second.status]).toEqual([200, 200]);
    expect(second.json['call_id']).toBe(first.json['call_id']);
    expectError(await service.place(customer.liveKey, callRequest('+12025550123')), 403, 'SPEND_LIMIT_EXCEEDED');
  });

  it('applies in test mode too, except to fictional numbers', async () => {
    const customer = await service.customer();
    const destinationCaps = [{ prefix: '+1', callsPerDay: 1 }];
    await service.accounts.setLimits(customer.account._id, { destinationCaps });
    for (const to of ['+12025550101', '+12025550101', '+12025550101', '+12125551234']) {
      expect((await service.place(customer.testKey, callRequest(to))).status).toBe(200);
    }
    expectError(await service.place(customer.testKey, callRequest('+12125551234')), 403, 'SPEND_LIMIT_EXCEEDED');
    expectError(await service.place(customer.testKey, callRequest('+19005550123')), 403, 'DESTINATION_NOT_ALLOWED');
  });
});
