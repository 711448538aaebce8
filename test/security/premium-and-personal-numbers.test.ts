import { expectError, startService, type Customer, type Service } from '../support/http/harness.js';
import { REAL_CARRIER } from './support/real-carrier.js';

const EXPENSIVE = [
  // Premium-rate numbers in Ukraine and Russia, and personal numbers in North America. The last two numbers have extra
  // digits.
  '+380900212345',
  '+78091234567',
  '+15002345678',
  '+150023456789',
  '+380900212345678',
];
const ORDINARY = ['+12', '+123456789012345', '+12025550112', '+380442345678', '+74951234567'];

let real: Service;
let simulated: Service;
beforeAll(async () => {
  real = await startService({ env: REAL_CARRIER, worker: false });
  simulated = await startService({ worker: false });
}, 120_000);
afterAll(async () => {
  await real.close();
  await simulated.close();
});

const order = (to: string) => ({ to_phone_number: to, instruction: 'Hello.' });

/** Creates a customer whose calls are always rejected, right after the destination has been checked. */
async function idleCustomer(service: Service): Promise<Customer> {
  const customer = await service.customer(100_000_000);
  await service.accounts.setLimits(customer.account._id, { concurrentCalls: 0 });
  return customer;
}

async function expectAllowed(service: Service, key: string, to: string): Promise<void> {
  const response = await service.place(key, order(to));
  expect([to, response.json['error_code']]).toEqual([to, 'CONCURRENCY_LIMIT_EXCEEDED']);
}

describe('a premium-rate or personal number', () => {
  it.each(EXPENSIVE)('is never called on a real carrier, even if its country is allowed: %s', async (to) => {
    const { account, liveKey } = await idleCustomer(real);
    expectError(await real.place(liveKey, order(to)), 403, 'DESTINATION_NOT_ALLOWED', /premium-rate or personal/);
    // A permission for a whole country does not include its premium-rate and personal numbers.
    await real.accounts.setLimits(account._id, { destinationCaps: [{ prefix: '+1' }, { prefix: '+380' }] });
    expectError(await real.place(liveKey, order(to)), 403, 'DESTINATION_NOT_ALLOWED');
  });

  it('is called once an operator allows its prefix, and others are not', async () => {
    const { account, liveKey } = await idleCustomer(real);
    await real.accounts.setLimits(account._id, { destinationCaps: [{ prefix: '+380900' }] });
    await expectAllowed(real, liveKey, '+380900212345');
    expectError(await real.place(liveKey, order('+15002345678')), 403, 'DESTINATION_NOT_ALLOWED');
  });

  it('is recognized by its national plan only: ordinary numbers and those outside any plan are called', async () => {
    const { liveKey } = await idleCustomer(real);
    for (const to of ORDINARY) await expectAllowed(real, liveKey, to);
  });

  it('may be dialed where it costs nothing: in test mode and on the simulated carrier', async () => {
    const customer = await idleCustomer(real);
    const { json } = await real.place(customer.testKey, order('+15002345678'));
    expect(json['error_code']).not.toBe('DESTINATION_NOT_ALLOWED');
    await expectAllowed(simulated, (await idleCustomer(simulated)).liveKey, '+15002345678');
  });
});
