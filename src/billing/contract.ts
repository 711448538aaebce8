import { z } from 'zod';
import {
  LEDGER_COLUMNS,
  BalanceResponse,
  LedgerPage,
  LedgerQuery,
  UsageResponse,
  UsageQuery,
  type LedgerEntry,
} from './statements/schemas.js';
import { csvRecord } from './statements/csv.js';
import { PaymentResponse, PaymentEvent } from './payments/schemas.js';
import { EXAMPLE_CALL_ID } from '../platform/http/contract/call-params.js';
import { defineRoute, rateLimitHeaders } from '../platform/http/contract/route.js';

const AGENT_ID = 'agent_01JD3Q4Z6WX8Y2V7T5R9S1K0MN';
const ACCOUNT_ID = 'acct_01JD3Q4Z6WX8Y2V7T5R9S1K0MN';

const settlement: LedgerEntry = {
  id: `S${EXAMPLE_CALL_ID}`,
  type: 'settlement',
  at: '2026-11-21T10:00:52.000Z',
  call_id: EXAMPLE_CALL_ID,
  billed_seconds: 47,
  available: 0.0325,
  available_micros: 32_500,
  held: -0.15,
  held_micros: -150_000,
  credited: 0,
  credited_micros: 0,
  billed: 0.1175,
  billed_micros: 117_500,
};
const topUp: LedgerEntry = {
  id: `T${ACCOUNT_ID}~live~cs_live_a1`,
  type: 'top_up',
  at: '2026-11-21T09:00:00.000Z',
  payment_id: 'cs_live_a1',
  available: 25,
  available_micros: 25_000_000,
  held: 0,
  held_micros: 0,
  credited: 25,
  credited_micros: 25_000_000,
  billed: 0,
  billed_micros: 0,
};
const figures = { calls: 1, seconds: 47, cost: 0.1175, cost_micros: 117_500 };
const usage = {
  mode: 'live',
  currency: 'USD',
  from: '2026-10-23T00:00:00.000Z',
  to: '2026-11-21T12:00:00.000Z',
  total: figures,
};

const csv = (example: string) => ({
  'text/csv': { schema: z.string().meta({ description: 'RFC 4180, with a header line.' }), examples: { csv: example } },
});

const headers = { ...rateLimitHeaders, 'Cache-Control': 'no-store' };

/** Routes for balance, ledger entries and usage. */
export const statementRoutes = {
  readBalance: defineRoute({
    method: 'get',
    path: '/balance',
    tag: 'Money',
    summary: 'Read the balance',
    description: 'Returns the balance of the account in the mode of the request.',
    auth: 'keyOrSession',
    success: {
      description: 'The balance.',
      contentType: 'application/json',
      schema: BalanceResponse,
      examples: {
        balance: {
          mode: 'live',
          currency: 'USD',
          available: 24.7325,
          available_micros: 24_732_500,
          held: 0.15,
          held_micros: 150_000,
          credited: 25,
          credited_micros: 25_000_000,
          billed: 0.1175,
          billed_micros: 117_500,
        },
      },
      headers,
    },
    errors: [],
  }),
  readLedger: defineRoute({
    method: 'get',
    path: '/ledger',
    tag: 'Money',
    summary: 'List ledger entries',
    description:
      'Newest first, in pages; new entries do not shift later pages. With Accept: text/csv or format=csv, returns the whole period as one CSV file. Unknown parameters are rejected.',
    auth: 'keyOrSession',
    load: 'list',
    query: LedgerQuery,
    success: {
      description: 'A page of entries, or the whole period as CSV.',
      contentType: 'application/json',
      schema: LedgerPage,
      examples: { page: { data: [settlement, topUp], has_more: true, next_cursor: 'pWm1…' } },
      alternatives: csv(csvRecord(LEDGER_COLUMNS) + csvRecord(LEDGER_COLUMNS.map((column) => settlement[column]))),
      headers,
    },
    errors: [],
  }),
  readUsage: defineRoute({
    method: 'get',
    path: '/usage',
    tag: 'Money',
    summary: 'Read usage by day or agent',
    description:
      'Sums what the ledger billed in the period: settlements, at the time of settlement, minus corrections. Unknown parameters are rejected.',
    auth: 'keyOrSession',
    load: 'export',
    query: UsageQuery,
    success: {
      description: 'Billed calls, seconds and cost.',
      contentType: 'application/json',
      schema: UsageResponse,
      examples: {
        day: { ...usage, group_by: 'day', data: [{ day: '2026-11-21', ...figures }] },
        agent: { ...usage, group_by: 'agent', data: [{ agent_id: AGENT_ID, agent_name: 'Reminders', ...figures }] },
      },
      alternatives: csv('day,calls,seconds,cost,cost_micros\r\n2026-11-21,1,47,0.1175,117500\r\n'),
      headers,
    },
    errors: [],
  }),
};

/** Routes for incoming payments. */
export const paymentRoutes = {
  receivePayment: defineRoute({
    method: 'post',
    path: '/webhooks/payments',
    tag: 'Money',
    summary: 'Receive an event from the payment provider',
    description:
      'Credits the account named by client_reference_id or metadata.account_id when a checkout session was paid (checkout.session.completed, payment_status paid, currency usd) that came from a payment link in PAYMENT_LINK_IDS, if that is set. The amount is amount_total without tax and shipping. A checkout session is credited once, however often its event arrives; a different amount returns 409. Other events are accepted and ignored. Returns 404 unless PAYMENT_WEBHOOK_SECRET is set.',
    auth: 'none',
    changes: 'mode',
    readsItself: true,
    headers: z.object({
      'Stripe-Signature': z.string().meta({
        description:
          't=<unix seconds>,v1=<hex>: HMAC-SHA256 with the signing secret over t, a dot and the raw body. Several v1 are accepted; t may differ by up to 5 minutes.',
        examples: ['t=1795255200,v1=5257a869e7ecebeda32affa62cdca3fa51cad7e77a0e56ff536d0ce8e108d8bd'],
      }),
    }),
    body: {
      contentType: 'application/json',
      schema: PaymentEvent,
      examples: {
        paid: {
          id: 'evt_1',
          object: 'event',
          type: 'checkout.session.completed',
          livemode: true,
          data: {
            object: {
              id: 'cs_live_a1',
              object: 'checkout.session',
              payment_status: 'paid',
              payment_link: 'plink_1AbC',
              amount_subtotal: 2_500,
              amount_total: 2_700,
              total_details: { amount_discount: 0, amount_shipping: 0, amount_tax: 200 },
              currency: 'usd',
              client_reference_id: ACCOUNT_ID,
              metadata: { mode: 'live' },
            },
          },
        },
      },
    },
    success: {
      description: 'Accepted; safe to repeat.',
      contentType: 'application/json',
      schema: PaymentResponse,
      examples: { credited: { received: true, credited: true }, ignored: { received: true, credited: false } },
    },
    errors: [
      'MISSING_PARAMS',
      'HTTPS_REQUIRED',
      'FORBIDDEN',
      'NOT_FOUND',
      'IDEMPOTENCY_CONFLICT',
      'PAYLOAD_TOO_LARGE',
      'UNSUPPORTED_MEDIA_TYPE',
      'RATE_LIMIT_EXCEEDED',
      'SERVICE_UNAVAILABLE',
    ],
  }),
};

/** All routes about money. */
export const moneyRoutes = { ...statementRoutes, ...paymentRoutes };
