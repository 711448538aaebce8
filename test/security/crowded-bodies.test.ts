import { z } from 'zod';
import { MAX_JSON_MEMBERS } from '../../src/platform/http/contract/fields.js';
import type { Route } from '../../src/platform/http/contract/route.js';
import { routes } from '../../src/api/routes.js';
import { expectError, startService, type Customer, type Service } from '../support/http/harness.js';

let service: Service;
let customer: Customer;
beforeAll(async () => {
  service = await startService({ worker: false, env: { PAYMENT_WEBHOOK_SECRET: 'whsec_of-these-tests' } });
  customer = await service.customer();
});
afterAll(() => service.close());

const many = (count: number) => Array.from({ length: count }, (_, index) => index);
const headersOf = (count: number) => Object.fromEntries(many(count).map((index) => [`x${index}`, 'v']));
const agent = (fields: object) => ({ name: 'A', instruction: 'Be polite.', ...fields });
const tool = (fields: object) => ({
  name: 'look_up',
  description: 'd',
  method: 'GET',
  url: 'https://example.com',
  parameters: '{"type":"object"}',
  ...fields,
});
const { ofOne, ofAll } = MAX_JSON_MEMBERS;

function send(method: string, path: string, body: unknown) {
  const headers = { 'Content-Type': 'application/json' };
  return service.request(path, { method, key: customer.liveKey, headers, body: JSON.stringify(body) });
}

/**
 * Finds the parts of a body's JSON Schema that can have any number of members: arrays, and objects with arbitrary
 * names.
 */
function openEnded(schema: unknown, found: Record<string, unknown>[] = []): Record<string, unknown>[] {
  if (typeof schema !== 'object' || schema === null) return found;
  const one = schema as Record<string, unknown>;
  if (one['type'] === 'array' || one['propertyNames'] !== undefined) found.push(one);
  // The schema of a nullable object has alternatives: the object and null. The limits are not in these alternatives but
  // next to them, so the alternatives are not searched.
  if (one['propertyNames'] !== undefined) return found;
  for (const each of Object.values(one)) openEnded(each, found);
  return found;
}

describe('a body with thousands of members is rejected before it is validated', () => {
  it.each([
    ['85,000 tools', () => agent({ tools: Array(85_000).fill(1) }), /^tools: A list may have at most 256 items\.$/],
    [
      '24,000 headers of a tool',
      () => agent({ tools: [tool({ headers: headersOf(16_000) })] }),
      /^tools: An object may have at most 256 fields\.$/,
    ],
    [
      '60 tools of 200 headers each',
      () => agent({ tools: many(60).map(() => tool({ headers: headersOf(200) })) }),
      /^tools: All lists and objects together may have at most 4096 members\.$/,
    ],
    ['thousands of fields', () => agent(headersOf(10_000)), /^An object may have at most 256 fields\.$/],
    [
      'a long list in a field whose name is not a word',
      () => agent({ 'a\n<b>': many(300) }),
      /^A list may have at most 256 items\.$/,
    ],
  ])('%s', async (_what, body, message) => {
    expectError(await send('POST', '/agents', body()), 400, 'MISSING_PARAMS', message);
    expectError(await send('PATCH', `/agents/${customer.agent._id}`, body()), 400, 'MISSING_PARAMS', message);
    expectError(await send('POST', '/outbound_call', body()), 400, 'MISSING_PARAMS', message);
  });

  it('without authentication too, within the limit of 16 KiB', async () => {
    const headers = { 'Content-Type': 'application/json', 'Sec-Fetch-Site': 'same-origin' };
    const body = JSON.stringify({ email: many(5_000) });
    for (const path of ['/portal/log-in', '/portal/sign-up', '/portal/accept-invitation']) {
      const response = await service.request(path, { method: 'POST', headers, body: body.slice(0, 16_000) });
      expect(response.status).toBe(400);
    }
    const response = await service.request('/portal/log-in', {
      method: 'POST',
      headers,
      body: JSON.stringify({ email: Array(5_000).fill(1) }),
    });
    expectError(response, 400, 'MISSING_PARAMS', /^email: A list may have at most 256 items\.$/);
  });

  it('with repeated parameters or a form of many fields, before it is parsed', async () => {
    const repeated = 'limit=1&'.repeat(300);
    expectError(
      await service.request(`/calls?${repeated}`, { key: customer.liveKey }),
      400,
      'MISSING_PARAMS',
      /at most 200 fields/,
    );
    const empty = await service.request('/carrier/status', {
      method: 'POST',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded', 'X-Twilio-Signature': `${'A'.repeat(27)}=` },
      body: '&'.repeat(60_000),
    });
    expectError(empty, 400, 'MISSING_PARAMS', /at most 200 fields/);
  });
});

describe('the limit on members of a body', () => {
  it('is ten times the limit of any list or object with arbitrary names', () => {
    const bodies = Object.values<Route>(routes).flatMap(({ path, body }) =>
      body?.contentType === 'application/json' ? [{ path, schema: body.schema }] : [],
    );
    expect(bodies.length).toBeGreaterThan(10);
    const within = bodies.flatMap(({ schema }) =>
      openEnded(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })),
    );
    expect(within.length).toBeGreaterThan(3);
    let sum = 0;
    for (const each of within) {
      const most = each['maxItems'] ?? each['maxProperties'];
      expect(most).toEqual(expect.any(Number));
      expect(most).toBeLessThanOrEqual(ofOne / 10);
      sum += Number(most);
    }
    expect(sum).toBeLessThan(ofAll / 10);
  });

  it('allows the largest agent, with 16 tools of 10 headers', async () => {
    const tools = many(16).map((index) => tool({ name: `look_up_${index}`, headers: headersOf(10) }));
    const body = agent({ tools, transfer_numbers: many(20).map((index) => `+1202555${1_000 + index}`) });
    expect((await send('POST', '/agents', body)).status).toBe(200);
  });

  it('allows 200 unknown fields', async () => {
    const response = await send('POST', '/outbound_call', {
      call_id: 'call_unknown',
      ...headersOf(200),
      more: many(200),
    });
    expect(response.status).toBe(404);
  });
});
