import { createHmac } from 'node:crypto';
import { ulid } from 'ulid';
import { createLedger } from '../../src/billing/ledger/ledger.js';
import { creditPayment } from '../../src/billing/payments/payments.js';
import { ledgerAccountId } from '../../src/kernel/ids.js';
import { parseConfig } from '../../src/platform/config/config.js';
import { observe } from '../../src/platform/telemetry/measurements.js';
import {
  expectError,
  startService,
  type Customer,
  type Service,
  type ServiceResponse,
} from '../support/http/harness.js';
import { likeASecret, PRODUCTION } from '../support/production.js';

const SECRET = 'whsec_a-secret-of-the-payment-provider';
const TOP_UPS = 'plink_1TopUps';
const lines: string[] = [];
const outcomes: string[] = [];

let service: Service;
let customer: Customer;
let forget: () => void;
beforeAll(async () => {
  forget = observe('payment', ({ outcome }) => void outcomes.push(outcome));
  service = await startService({
    worker: false,
    env: { PAYMENT_WEBHOOK_SECRET: SECRET, PAYMENT_LINK_IDS: `plink_1Other, ${TOP_UPS}`, LOG_LEVEL: 'info' },
    onLog: (line) => void lines.push(line),
  });
}, 120_000);
afterAll(async () => {
  forget();
  await service.close();
});
beforeEach(async () => {
  lines.length = 0;
  outcomes.length = 0;
  customer = await service.customer(0);
});

type Fields = Record<string, unknown>;

const newSessionId = () => `cs_live_${ulid()}`;

/** A paid checkout of a top-up of 25 USD, as the provider reports it. */
function sessionOf(fields: Fields = {}): Fields {
  return {
    id: newSessionId(),
    object: 'checkout.session',
    payment_link: TOP_UPS,
    payment_status: 'paid',
    amount_subtotal: 2_500,
    amount_total: 2_500,
    total_details: { amount_discount: 0, amount_shipping: 0, amount_tax: 0 },
    currency: 'usd',
    client_reference_id: customer.account._id,
    metadata: {},
    ...fields,
  };
}

function send(session: Fields): Promise<ServiceResponse> {
  const body = JSON.stringify({ type: 'checkout.session.completed', livemode: true, data: { object: session } });
  const time = Math.floor(Date.now() / 1_000);
  const signature = createHmac('sha256', SECRET).update(`${time}.${body}`).digest('hex');
  const headers = { 'Content-Type': 'application/json', 'Stripe-Signature': `t=${time},v1=${signature}` };
  return service.request('/webhooks/payments', { method: 'POST', headers, body });
}

async function creditedMicros(): Promise<number> {
  return (await createLedger(service.database).balance(ledgerAccountId(customer.account._id, 'live'))).creditedMicros;
}

describe('a paid checkout of something else that is sold with the same account at the provider', () => {
  it.each<[string, Fields]>([
    ['of another payment link', { payment_link: 'plink_1Shirts' }],
    ['of a link whose id begins alike', { payment_link: `${TOP_UPS}2` }],
    ['of no payment link', { payment_link: null }],
    ['without the field', { payment_link: undefined }],
    ['with a link that is no text', { payment_link: [TOP_UPS] }],
    ['in another currency', { payment_link: 'plink_1Shirts', currency: 'eur' }],
    ['that names an account in metadata', { payment_link: null, metadata: { account_id: 'acct_1' } }],
  ])('credits nothing, although its buyer named an account: %s', async (_name, fields) => {
    const session = sessionOf(fields);
    const { status, json } = await send(session);
    expect({ status, json }).toEqual({ status: 200, json: { received: true, credited: false } });
    expect(await service.database.payments.countDocuments({ _id: String(session['id']) })).toBe(0);
    expect(await creditedMicros()).toBe(0);
  });

  it('is logged with its ids and counted, so that the operator notices a missing link', async () => {
    const session = sessionOf({ payment_link: 'plink_1Shirts' });
    await send(session);
    await send(sessionOf());
    const logged = lines.map((line) => JSON.parse(line) as Fields).filter(({ msg }) => msg === 'payment ignored');
    expect(logged).toMatchObject([
      {
        level: 40,
        paymentId: session['id'],
        paymentLink: 'plink_1Shirts',
        clientReferenceId: customer.account._id,
        reason: 'its payment link is not in PAYMENT_LINK_IDS',
      },
    ]);
    expect(outcomes).toEqual(['ignored', 'credited']);
  });
});

describe('the credit of a top-up', () => {
  const details = (tax: number, shipping = 0, discount = 0) => ({
    total_details: { amount_discount: discount, amount_shipping: shipping, amount_tax: tax },
  });

  it.each<[string, Fields, number]>([
    ['tax on top', { amount_total: 2_975, ...details(475) }, 25],
    ['tax within the price', { amount_total: 2_500, ...details(399) }, 21.01],
    ['shipping', { amount_total: 3_000, ...details(0, 500) }, 25],
    ['tax and shipping', { amount_total: 3_570, ...details(570, 500) }, 25],
    ['a discount', { amount_total: 2_000, ...details(0, 0, 500) }, 20],
    ['a discount and tax', { amount_total: 2_380, ...details(380, 0, 500) }, 20],
    ['an addition without details', { amount_total: 2_975, total_details: null }, 25],
    ['a provider that reports the total only', { amount_subtotal: undefined, total_details: undefined }, 25],
  ])('is what was paid for it, without tax and shipping: %s', async (_name, fields, usd) => {
    expect((await send(sessionOf(fields))).json['credited']).toBe(true);
    expect(await creditedMicros()).toBe(Math.round(usd * 1_000_000));
  });

  it('is nothing if only tax and shipping were paid', async () => {
    const free = sessionOf({ amount_total: 500, ...details(0, 500, 2_500) });
    expect((await send(free)).json).toEqual({ received: true, credited: false });
    expect(await creditedMicros()).toBe(0);
  });

  it.each<[string, Fields]>([
    ['a negative tax', details(-2_500)],
    ['a negative shipping', details(0, -1)],
    ['parts of a cent', details(0.5)],
    ['a tax as text', { total_details: { amount_tax: '475' } }],
    ['details as text', { total_details: 'none' }],
    ['a negative subtotal', { amount_subtotal: -1 }],
  ])('is rejected with 400 with %s', async (_name, fields) => {
    expectError(await send(sessionOf(fields)), 400, 'MISSING_PARAMS');
    expect(await creditedMicros()).toBe(0);
  });
});

describe('a payment that an earlier version has credited with its tax', () => {
  const withTax = () => sessionOf({ amount_total: 2_975, total_details: { amount_tax: 475 } });
  const creditFormerly = (session: Fields, amountMicros: number) =>
    creditPayment(
      { database: service.database, ledger: createLedger(service.database) },
      { paymentId: String(session['id']), accountId: customer.account._id, mode: 'live', amountMicros },
    );

  it('is not credited again when its event is repeated, and the provider stops repeating it', async () => {
    const session = withTax();
    await creditFormerly(session, 29_750_000);
    for (let i = 0; i < 3; i++) expect((await send(session)).status).toBe(200);
    expect(await creditedMicros()).toBe(29_750_000);
  });

  it('is credited once with that amount if the earlier version stopped after it had recorded the payment', async () => {
    const session = withTax();
    await service.database.payments.create([
      {
        _id: String(session['id']),
        accountId: customer.account._id,
        mode: 'live',
        amountMicros: 29_750_000,
        receivedAt: new Date(),
      },
    ]);
    for (let i = 0; i < 2; i++) expect((await send(session)).status).toBe(200);
    expect(await creditedMicros()).toBe(29_750_000);
  });

  it('is still 409 with any other amount', async () => {
    const session = withTax();
    await creditFormerly(session, 29_740_000);
    expectError(await send(session), 409, 'IDEMPOTENCY_CONFLICT');
    expect(await creditedMicros()).toBe(29_740_000);
  });
});

describe('PAYMENT_LINK_IDS', () => {
  const production = (values: NodeJS.ProcessEnv) => parseConfig({ ...PRODUCTION, ...values });
  const PAYMENT_WEBHOOK_SECRET = likeASecret('payments');

  it('must be set in production where the webhook is, and names the remedy', () => {
    for (const PAYMENT_LINK_IDS of ['', ' , ']) {
      expect(() => production({ PAYMENT_WEBHOOK_SECRET, PAYMENT_LINK_IDS })).toThrow(
        /PAYMENT_LINK_IDS must be set in production with PAYMENT_WEBHOOK_SECRET: .* plink_1AbC, or any/,
      );
    }
    expect(production({}).payments.linkIds).toBeUndefined();
    const ids = (PAYMENT_LINK_IDS: string) => production({ PAYMENT_WEBHOOK_SECRET, PAYMENT_LINK_IDS }).payments.linkIds;
    expect(ids('plink_1AbC, plink_2DeF')).toEqual(['plink_1AbC', 'plink_2DeF']);
    expect(ids('any')).toBeUndefined();
  });

  it.each(['plink_', 'https://buy.stripe.com/abc', 'plink_1,any', 'ANY', 'price_1AbC', 'plink_1;plink_2'])(
    'must not be malformed, as %s is',
    (PAYMENT_LINK_IDS) => {
      for (const env of [PRODUCTION, {}])
        expect(() => parseConfig({ ...env, PAYMENT_LINK_IDS })).toThrow(/PAYMENT_LINK_IDS: must be/);
    },
  );
});
