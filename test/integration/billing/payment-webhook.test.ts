import { createHmac } from 'node:crypto';
import { ulid } from 'ulid';
import { ledgerAccountId } from '../../../src/kernel/ids.js';
import { createLedger } from '../../../src/billing/ledger/ledger.js';
import {
  expectError,
  startService,
  type ServiceResponse,
  type Customer,
  type Service,
} from '../../support/http/harness.js';

const SECRET = 'whsec_a-secret-of-the-payment-provider';

let service: Service;
let customer: Customer;
beforeAll(async () => {
  service = await startService({ worker: false, env: { PAYMENT_WEBHOOK_SECRET: SECRET } });
});
afterAll(() => service.close());
beforeEach(async () => {
  customer = await service.customer(0);
});

type Fields = Record<string, unknown>;

const newSessionId = () => `cs_live_${ulid()}`;

/** Builds the event that the payment provider sends for a paid checkout of 25 USD. */
function paid(session: Fields = {}, event: Fields = {}): Fields {
  return {
    id: 'evt_1NG8Du2eZvKYlo2CUI79vXWy',
    object: 'event',
    api_version: '2024-06-20',
    created: 1_686_089_970,
    livemode: true,
    pending_webhooks: 1,
    type: 'checkout.session.completed',
    data: {
      object: {
        id: newSessionId(),
        object: 'checkout.session',
        amount_subtotal: 2_500,
        amount_total: 2_500,
        currency: 'usd',
        payment_status: 'paid',
        payment_intent: 'pi_3NG8Du2eZvKYlo2C1JVrnE7L',
        status: 'complete',
        client_reference_id: customer.account._id,
        metadata: { mode: 'live' },
        customer_details: { email: 'ada@example.com', tax_ids: [] },
        ...session,
      },
    },
    ...event,
  };
}

const signatureOf = (body: string, time: number, secret = SECRET) =>
  createHmac('sha256', secret).update(`${time}.${body}`, 'utf8').digest('hex');
const now = () => Math.floor(Date.now() / 1_000);

function send(body: string, signature: string | undefined, init: RequestInit = {}): Promise<ServiceResponse> {
  const headers = {
    'Content-Type': 'application/json; charset=utf-8',
    ...(signature ? { 'Stripe-Signature': signature } : {}),
  };
  return service.request('/webhooks/payments', { method: 'POST', headers, body, ...init });
}

/** Sends an event with a valid signature, as the provider does. */
function sendPaymentEvent(event: unknown): Promise<ServiceResponse> {
  const body = typeof event === 'string' ? event : JSON.stringify(event, null, 2);
  const time = now();
  return send(body, `t=${time},v1=${signatureOf(body, time)}`);
}

async function credited(mode: 'live' | 'test' = 'live', of = customer): Promise<number> {
  const { creditedMicros, availableMicros, heldMicros, billedMicros } = await createLedger(service.database).balance(
    ledgerAccountId(of.account._id, mode),
  );
  expect(creditedMicros - billedMicros).toBe(availableMicros + heldMicros);
  return creditedMicros;
}

const TEST_BALANCE = 1_000_000_000;
const expectNothingMoved = async () => {
  expect([await credited('live'), await credited('test')]).toEqual([0, TEST_BALANCE]);
};

describe('a payment', () => {
  it('is credited to the account it names and appears in the ledger with the payment id', async () => {
    const id = newSessionId();
    const answer = await sendPaymentEvent(paid({ id }));
    expect({ status: answer.status, json: answer.json }).toEqual({
      status: 200,
      json: { received: true, credited: true },
    });
    const { json } = await service.request('/ledger', { key: customer.liveKey });
    expect(json['data']).toMatchObject([{ type: 'top_up', payment_id: id, credited: 25, credited_micros: 25_000_000 }]);
    expect(await credited('test')).toBe(TEST_BALANCE);
  });

  it('is credited once when it arrives 20 times at once and once more later', async () => {
    const event = paid();
    const answers = await Promise.all(Array.from({ length: 20 }, () => sendPaymentEvent(event)));
    answers.push(await sendPaymentEvent({ ...event, id: 'evt_of_another_delivery' }));
    for (const answer of answers) expect([answer.status, answer.json['credited']]).toEqual([200, true]);
    expect(await credited()).toBe(25_000_000);
    const { json } = await service.request('/ledger', { key: customer.liveKey });
    expect(json['data']).toHaveLength(1);
  });

  it('is credited once when the same bytes and signature are replayed', async () => {
    const body = JSON.stringify(paid());
    const signature = `t=${now()},v1=${signatureOf(body, now())}`;
    for (let i = 0; i < 20; i++) expect((await send(body, signature)).status).toBe(200);
    expect(await credited()).toBe(25_000_000);
  });

  it('is rejected with 409 if it returns with another amount, account or mode', async () => {
    const id = newSessionId();
    await sendPaymentEvent(paid({ id }));
    const other = await service.customer(0);
    const changed = [
      paid({ id, amount_subtotal: 2_501, amount_total: 2_501 }),
      paid({ id, client_reference_id: other.account._id }),
      paid({ id, metadata: { mode: 'test' } }, { livemode: false }),
    ];
    for (const event of changed) expectError(await sendPaymentEvent(event), 409, 'IDEMPOTENCY_CONFLICT');
    expect([await credited('live'), await credited('test')]).toEqual([25_000_000, TEST_BALANCE]);
    expect([await credited('live', other), await credited('test', other)]).toEqual([0, TEST_BALANCE]);
    expect((await sendPaymentEvent(paid({ id }))).status).toBe(200);
  });

  it('is credited once when different amounts arrive at once with one id', async () => {
    const id = newSessionId();
    const answers = await Promise.all(
      [100, 200, 300, 400, 500].map((cents) => sendPaymentEvent(paid({ id, amount_total: cents }))),
    );
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409, 409, 409, 409]);
    const winner = answers.findIndex(({ status }) => status === 200);
    expect(await credited()).toBe((winner + 1) * 1_000_000);
  });

  it('goes to the test balance if the event is in test mode', async () => {
    expect((await sendPaymentEvent(paid({ metadata: {} }, { livemode: false }))).json['credited']).toBe(true);
    expect([await credited('live'), await credited('test')]).toEqual([0, TEST_BALANCE + 25_000_000]);
  });

  it('may name the account in metadata, and the mode only there', async () => {
    const metadata = { account_id: customer.account._id, mode: 'live' };
    expect(
      (await sendPaymentEvent(paid({ client_reference_id: null, metadata }, { livemode: undefined }))).status,
    ).toBe(200);
    expect(await credited()).toBe(25_000_000);
  });
});

describe('an invalid payment event moves no money:', () => {
  afterEach(expectNothingMoved);

  it.each<[string, Fields, Fields]>([
    ['a live payment for the test balance', { metadata: { mode: 'test' } }, { livemode: true }],
    ['a test payment for the live balance', { metadata: { mode: 'live' } }, { livemode: false }],
    ['no mode', { metadata: null }, { livemode: null }],
    ['an unknown mode', { metadata: { mode: 'both' } }, {}],
    ['a mode that is no string', { metadata: { mode: ['live'] } }, {}],
    ['livemode as text', {}, { livemode: 'true' }],
    ['another currency', { currency: 'eur' }, {}],
    ['no currency', { currency: null }, {}],
    ['no account', { client_reference_id: null }, {}],
    ['an empty account', { client_reference_id: '' }, {}],
    ['an account as object', { client_reference_id: { $ne: null } }, {}],
    ['two accounts', { metadata: { account_id: 'acct_other' } }, {}],
    ['amount 0', { amount_total: 0 }, {}],
    ['a negative amount', { amount_total: -2_500 }, {}],
    ['parts of a cent', { amount_total: 0.5 }, {}],
    ['an amount as text', { amount_total: '2500' }, {}],
    ['no amount', { amount_total: null }, {}],
    ['2^53 cents', { amount_total: 2 ** 53 }, {}],
    ['more than an exact integer', { amount_total: 900_719_925_475 }, {}],
    ['no payment id', { id: null }, {}],
    ['a payment id with a dot', { id: 'cs.a' }, {}],
    ['a payment id that is too long', { id: 'c'.repeat(129) }, {}],
    ['no type', {}, { type: null }],
    ['no object', {}, { data: { object: null } }],
    ['data as text', {}, { data: 'x' }],
  ])('is rejected with 400: %s', async (_name, session, event) => {
    expectError(await sendPaymentEvent(paid(session, event)), 400, 'MISSING_PARAMS');
  });

  it('is rejected with 404 for an unknown account', async () => {
    const [accountId, id] = [`acct_${ulid()}`, newSessionId()];
    expectError(await sendPaymentEvent(paid({ id, client_reference_id: accountId })), 404, 'NOT_FOUND');
    expect(await service.database.payments.countDocuments({ accountId })).toBe(0);
    // The payment is credited when the provider sends its event again, now with an existing account.
    const { account } = await service.customer(0);
    expect((await sendPaymentEvent(paid({ id, client_reference_id: account._id }))).json['credited']).toBe(true);
  });

  it.each([
    ['invalid JSON', '{'],
    ['an array', '[]'],
    ['data that is no object', '{"type":"ping","data":7}'],
    ['nested too deeply', `{"type":"x","a":${'['.repeat(60_000)}`],
    [
      'a number that is not finite',
      '{"type":"checkout.session.completed","data":{"object":{"amount_total":1e999,"payment_status":"paid"}}}',
    ],
  ])('is rejected with 400: %s', async (_name, body) => {
    expectError(await sendPaymentEvent(body), 400, 'MISSING_PARAMS');
  });

  it('is rejected with 413 over 64 KiB', async () => {
    expectError(await sendPaymentEvent(JSON.stringify({ type: 'x'.repeat(65_536) })), 413, 'PAYLOAD_TOO_LARGE');
  });

  it.each<[string, Fields, Fields]>([
    ['another type', {}, { type: 'payment_intent.succeeded' }],
    ['a checkout that expired', {}, { type: 'checkout.session.expired' }],
    ['a type without data', {}, { type: 'ping', data: undefined }],
    ['a type whose data is null', {}, { type: 'ping', data: null }],
    ['a checkout that is not paid yet', { payment_status: 'unpaid' }, {}],
    ['a checkout with nothing to pay', { payment_status: 'no_payment_required', amount_total: 0 }, {}],
  ])('is accepted and ignored: %s', async (_name, session, event) => {
    const { status, json } = await sendPaymentEvent(paid(session, event));
    expect({ status, json }).toEqual({ status: 200, json: { received: true, credited: false } });
  });
});

describe('the signature', () => {
  it('may be one of several while a secret is replaced', async () => {
    const body = JSON.stringify(paid());
    const time = now();
    const old = signatureOf(body, time, 'whsec_the-secret-before-this-one');
    const header = `t=${time},v1=${old},v1=${signatureOf(body, time)},v0=${'0'.repeat(64)}`;
    expect((await send(body, header)).status).toBe(200);
    expect(await credited()).toBe(25_000_000);
  });

  it.each<[string, (body: string) => string | undefined]>([
    ['is missing', () => undefined],
    ['has no signatures', () => `t=${now()}`],
    ['has no time', (body) => `v1=${signatureOf(body, now())}`],
    ['has two times', (body) => `t=${now()},t=${now() - 1},v1=${signatureOf(body, now())}`],
    ['is of another time', (body) => `t=${now()},v1=${signatureOf(body, now() - 1)}`],
    ['is of another secret', (body) => `t=${now()},v1=${signatureOf(body, now(), 'whsec_another-secret')}`],
    ['is of another body', (body) => `t=${now()},v1=${signatureOf(`${body} `, now())}`],
    ['is of the old scheme only', (body) => `t=${now()},v0=${signatureOf(body, now())}`],
    ['is cut short', (body) => `t=${now()},v1=${signatureOf(body, now()).slice(0, -1)}`],
    ['is older than 5 minutes', (body) => `t=${now() - 305},v1=${signatureOf(body, now() - 305)}`],
    ['is from the future', (body) => `t=${now() + 360},v1=${signatureOf(body, now() + 360)}`],
    ['is garbage', () => '\u00ff=,,=,t=1e9,v1=%'],
  ])('is rejected with 403 if it %s, and no money moves', async (_name, headerOf) => {
    const body = JSON.stringify(paid());
    expectError(await send(body, headerOf(body)), 403, 'FORBIDDEN');
    await expectNothingMoved();
  });

  it('is valid for 4 minutes', async () => {
    const body = JSON.stringify(paid());
    expect((await send(body, `t=${now() - 240},v1=${signatureOf(body, now() - 240)}`)).status).toBe(200);
  });

  it('covers the bytes as sent: the same JSON formatted otherwise is rejected', async () => {
    const event = paid();
    const time = now();
    const header = `t=${time},v1=${signatureOf(JSON.stringify(event), time)}`;
    expectError(await send(JSON.stringify(event, null, 1), header), 403, 'FORBIDDEN');
    await expectNothingMoved();
  });

  it('does not matter for other methods, which get 405', async () => {
    const answer = await service.request('/webhooks/payments');
    expectError(answer, 405, 'METHOD_NOT_ALLOWED');
    expect(answer.headers.get('allow')).toBe('POST');
  });
});

describe('without PAYMENT_WEBHOOK_SECRET', () => {
  it('has no route for payments', async () => {
    const without = await startService({ worker: false });
    try {
      const answer = await without.request('/webhooks/payments', { method: 'POST', body: '{}' });
      expectError(answer, 404, 'NOT_FOUND');
    } finally {
      await without.close();
    }
  });

  it('does not start with a secret that is too short', async () => {
    await expect(startService({ env: { PAYMENT_WEBHOOK_SECRET: 'short' } })).rejects.toThrow(/PAYMENT_WEBHOOK_SECRET/);
  });
});
