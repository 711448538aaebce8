import { createHmac } from 'node:crypto';
import { ulid } from 'ulid';
import { createLedger } from '../../src/billing/ledger/ledger.js';
import { ledgerAccountId } from '../../src/kernel/ids.js';
import { runAdmin } from '../integration/cli/support/run-cli.js';
import { startService, type Customer, type Service } from '../support/http/harness.js';

const SECRET = 'whsec_a-secret-of-the-payment-provider';

let service: Service;
let payer: Customer;
let other: Customer;
beforeAll(async () => {
  service = await startService({ worker: false, env: { PAYMENT_WEBHOOK_SECRET: SECRET } });
}, 120_000);
afterAll(() => service.close());
beforeEach(async () => {
  [payer, other] = await Promise.all([service.customer(0), service.customer(0)]);
});

const newPaymentId = () => `cs_live_${ulid()}`;

/** Reports a payment of 25 USD as the payment provider does. Returns the status of the response. */
async function reportPayment(id: string, { account }: Customer): Promise<number> {
  const object = { id, payment_status: 'paid', amount_total: 2_500, currency: 'usd', client_reference_id: account._id };
  const body = JSON.stringify({ type: 'checkout.session.completed', livemode: true, data: { object } });
  const time = Math.floor(Date.now() / 1_000);
  const signature = createHmac('sha256', SECRET).update(`${time}.${body}`).digest('hex');
  const headers = { 'Content-Type': 'application/json', 'Stripe-Signature': `t=${time},v1=${signature}` };
  return (await service.request('/webhooks/payments', { method: 'POST', headers, body })).status;
}

/** Credits 25 USD with the operator's command. Returns the exit code and the error. */
async function credit(id: string, { account }: Customer, ...options: string[]) {
  const env = { MONGODB_URI: service.config.mongodbUri, API_KEY_PEPPER: service.config.apiKeyPepper };
  const { code, stderr } = await runAdmin(['topup', account._id, '25', '--payment-id', id, ...options], env);
  return { code, stderr };
}

async function creditedTo({ account }: Customer, mode: 'live' | 'test' = 'live'): Promise<number> {
  return (await createLedger(service.database).balance(ledgerAccountId(account._id, mode))).creditedMicros;
}

describe('a payment that is credited by hand and reported by webhook', () => {
  it('is credited once if both name one account, in either order', async () => {
    const ids = [newPaymentId(), newPaymentId()] as const;
    expect(await credit(ids[0], payer)).toEqual({ code: 0, stderr: '' });
    expect(await reportPayment(ids[0], payer)).toBe(200);
    expect(await reportPayment(ids[1], payer)).toBe(200);
    expect(await credit(ids[1], payer)).toEqual({ code: 0, stderr: '' });
    expect(await creditedTo(payer)).toBe(50_000_000);
  });

  it('is never credited to a second account or balance, in either order', async () => {
    const ids = [newPaymentId(), newPaymentId()] as const;
    await credit(ids[0], payer);
    expect([await reportPayment(ids[0], other), await creditedTo(other)]).toEqual([409, 0]);
    await reportPayment(ids[1], payer);
    const before = await creditedTo(payer, 'test');
    for (const [to, mode] of [
      [other, 'live'],
      [payer, 'test'],
    ] as const) {
      const { code, stderr } = await credit(ids[1], to, '--mode', mode);
      expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/credited before/) as string });
    }
    expect([await creditedTo(payer), await creditedTo(payer, 'test'), await creditedTo(other)]).toEqual([
      50_000_000,
      before,
      0,
    ]);
  });

  it('is rejected with a spelling of its id that no payment provider uses', async () => {
    const id = newPaymentId();
    for (const spelling of [` ${id}`, `${id}\n`, '', 'x'.repeat(129)]) {
      expect((await credit(spelling, payer)).code).toBe(2);
    }
    expect(await creditedTo(payer)).toBe(0);
  });
});
