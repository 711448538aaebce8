import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import Koa from 'koa';
import { handleErrors } from '../../src/api/errors.js';
import { createAuthenticator } from '../../src/identity/access/authentication.js';
import { CALL_ID_PATTERN } from '../../src/kernel/ids.js';
import type { RequestState } from '../../src/platform/http/context.js';
import { createFailureLimiter, createRateLimiter } from '../../src/platform/http/rate-limits/rate-limit.js';
import { requestId } from '../../src/platform/http/request-id.js';
import { createSignedRequests } from '../../src/platform/http/signed-requests.js';
import { createLogger } from '../../src/platform/telemetry/logger.js';
import { observe } from '../../src/platform/telemetry/measurements.js';
import { CARRIERS } from '../../src/telephony/carrier-list.js';
import { createCarrierRoutes, createCarriers } from '../../src/telephony/carriers.js';
import type { CarrierEventHandlers, CallInstructions } from '../../src/telephony/callbacks.js';
import { sign } from '../../src/telephony/twilio/signature.js';
import { eventually, expectError, startService, type ServiceResponse, type Service } from '../support/http/harness.js';
import { rawRequest } from '../support/hostile-requests.js';
import { newSid } from '../support/sids.js';
import { createTestCarrierFactory } from '../support/test-carrier/carrier';
import { startTestCarrierServer } from '../support/test-carrier/server';
import { holdBack } from './support/held-back-requests.js';
import { REAL_CARRIER } from './support/real-carrier.js';

/**
 * The response that rejects an inbound call. After any other response, Twilio answers the call, reads an error message
 * to the caller, and bills the operator.
 */
const REJECT = '<?xml version="1.0" encoding="UTF-8"?><Response><Reject reason="busy"/></Response>';

const NUMBER = '+12025550177';
const log: string[] = [];
/** The modes and causes that the metric of rejected calls counts. */
const causes: string[] = [];
const forget = observe('inboundRejected', ({ mode, cause }) => void causes.push(`${mode} ${cause}`));

let service: Service;
beforeAll(async () => {
  service = await startService({
    worker: false,
    minDeadlineMs: 0,
    env: { ...REAL_CARRIER, LOG_LEVEL: 'warn' },
    onLog: (line) => void log.push(line),
  });
}, 60_000);
afterAll(() => {
  forget();
  return service.close();
});
beforeEach(() => void (causes.length = 0));

const formOf = (more: Record<string, string> = {}) => ({
  CallSid: newSid('CA'),
  From: '+12025550143',
  To: '+12025550199',
  ...more,
});
const receiveCall = (query = '', form: Record<string, string> = formOf()) =>
  service.carrierPost(`/inbound_call${query}`, form);

/** The headers of a request that the carrier signs. */
function signedHeaders(path: string, form: Record<string, string>): Record<string, string> {
  const { carrierAccountId: AccountSid, authToken } = service.config.carriers.live;
  const url = `${service.config.publicBaseUrl}${path}`;
  return { 'X-Twilio-Signature': sign({ authToken, url, params: { AccountSid, ...form } }) };
}

/** Starts the carrier's routes and fills them: the maximum number of signed requests is in flight. */
async function startSaturatedRoutes() {
  const { config, database } = service;
  const logger = createLogger({ role: 'test', level: 'silent' });
  const failureLimiter = createFailureLimiter(config);
  const signedRequests = createSignedRequests({ failureLimiter, maxInFlight: 0 });
  const rateLimiter = createRateLimiter(database);
  const authenticator = createAuthenticator({ config, database, rateLimiter, failureLimiter, signedRequests });
  const routes = createCarrierRoutes({
    carriers: createCarriers({ config }),
    publicBaseUrl: config.publicBaseUrl,
    signedRequests,
    authenticator,
    logger,
    // No request of this test reaches these handlers.
    events: {} as CarrierEventHandlers,
    instructions: {} as CallInstructions,
  });
  const app = new Koa<RequestState>();
  app
    .use(requestId(logger, { errorDocs: '', minDeadlineMs: 0 }))
    .use(handleErrors(logger))
    .use(signedRequests.middleware);
  app.use(async (ctx) => {
    ctx.body = await routes.find(({ route }) => route.path === ctx.path)?.handle({ ctx });
  });
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    post(path: string): Promise<Response> {
      const form = formOf();
      const body = new URLSearchParams({ AccountSid: config.carriers.live.carrierAccountId, ...form });
      return fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', headers: signedHeaders(path, form), body });
    },
    close: () => void server.close(),
  };
}

function expectRejected({ status, headers, text }: ServiceResponse): void {
  expect({ status, text }).toEqual({ status: 200, text: REJECT });
  expect(headers.get('content-type')).toMatch(/^text\/xml/);
}

describe('an inbound call from the carrier that is not accepted is rejected unanswered', () => {
  it('if no agent is found for it', async () => {
    const { account, agent } = await service.customer();
    await service.phoneNumbers.add({ number: NUMBER, accountId: account._id });
    expectRejected(await receiveCall());
    expectRejected(await receiveCall('', formOf({ ForwardedFrom: '+12025550178' })));
    expectRejected(await receiveCall('', formOf({ ForwardedFrom: NUMBER })));
    expectRejected(await receiveCall('?agent_id=agent_01JD3Q4Z6WX8Y2V7T5R9S1K0MN'));
    await service.agents.archive(account._id, agent._id);
    expectRejected(await receiveCall(`?agent_id=${agent._id}`));
  });

  it('if its form or query is invalid', async () => {
    const { agent } = await service.customer();
    expectRejected(await receiveCall('?agent_id=Reception'));
    expectRejected(await receiveCall(`?agent_id=${agent._id}&agent_id=${agent._id}`));
    const { From: _from, ...anonymous } = formOf();
    expectRejected(await receiveCall(`?agent_id=${agent._id}`, anonymous));
    expectRejected(await receiveCall(`?agent_id=${agent._id}`, formOf({ CallSid: 'CA1' })));
    expectRejected(await receiveCall(`?agent_id=${agent._id}`, formOf({ To: 'x'.repeat(300) })));
  });

  it('if it is not decided in time', async () => {
    const { agent } = await service.customer();
    log.length = 0;
    // No worker runs, so nothing decides this call.
    expectRejected(await receiveCall(`?agent_id=${agent._id}`));
    expect(log.map((line) => JSON.parse(line) as object)).toContainEqual(
      expect.objectContaining({
        msg: 'inbound call rejected after an internal failure',
        callId: expect.stringMatching(CALL_ID_PATTERN),
      }),
    );
    expect(causes).toEqual(['live failure']);
  });

  it('if an internal error occurs, which is logged without a phone number', async () => {
    const { account, agent } = await service.customer();
    // Breaks the stored agent.
    await service.database.agents.collection.updateOne({ _id: agent._id as never }, { $set: { tools: 7 } });
    log.length = 0;
    expectRejected(await receiveCall(`?agent_id=${agent._id}`));
    expect(log.join('')).toContain('inbound call rejected after an internal failure');
    log.length = 0;
    expectRejected(await receiveCall('', formOf({ CallSid: 'CA1' })));
    expect(log.map((line) => JSON.parse(line) as object)).toEqual([
      expect.objectContaining({
        msg: 'inbound call rejected',
        code: 'MISSING_PARAMS',
        reason: expect.stringMatching(/^CallSid /),
      }),
    ]);
    expect(log.join('')).not.toMatch(/CA1\b|\+1202/);
    expect(causes).toEqual(['live failure', 'live MISSING_PARAMS']);
    expect(await service.database.callRequests.countDocuments({ accountId: account._id })).toBe(0);
  });

  it('if its body cannot be read, so the sender is unknown; a status callback gets an error', async () => {
    const long = { Notes: 'x'.repeat(70_000) };
    const many = Object.fromEntries(Array.from({ length: 201 }, (_, n) => [`Extra${n}`, 'x']));
    for (const more of [long, many]) {
      expectRejected(await receiveCall('', formOf(more)));
      expect((await service.carrierPost('/carrier/status', formOf(more))).status).toBeGreaterThanOrEqual(400);
    }
    const headers = { ...signedHeaders('/inbound_call', formOf()), 'Content-Encoding': 'gzip' };
    expectRejected(await service.request('/inbound_call', { method: 'POST', headers, body: 'x' }));
  });

  it('if its incomplete body was dropped to free memory', async () => {
    const path = '/inbound_call';
    const headers = { ...signedHeaders(path, formOf()), 'Content-Type': 'application/x-www-form-urlencoded' };
    const request = rawRequest({ method: 'POST', path, headers, body: new URLSearchParams(formOf()).toString() });
    const [oldest, ...others] = [
      ...(await holdBack(service.port, 1, () => request)),
      ...(await holdBack(service.port, 1_000, () => request)),
    ];
    const answer = await eventually(async () => oldest?.isClosed() && oldest.answer(), 30_000);
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    expect(answer).toContain(REJECT);
    for (const each of others) each.drop();
  }, 60_000);

  it('if too many signed requests are in flight; a status callback gets 503, since the carrier repeats it', async () => {
    const full = await startSaturatedRoutes();
    try {
      const inbound = await full.post('/inbound_call');
      expect({ status: inbound.status, text: await inbound.text() }).toEqual({ status: 200, text: REJECT });
      expect((await full.post('/carrier/status')).status).toBe(503);
    } finally {
      full.close();
    }
  });

  it('unless its signature is forged or it is forwarded with an API key: these get an error', async () => {
    const form = formOf();
    const body = new URLSearchParams({ ...form, AccountSid: service.config.carriers.live.carrierAccountId });
    const headers = { 'X-Twilio-Signature': `${'A'.repeat(27)}=` };
    expectError(await service.request('/inbound_call', { method: 'POST', headers, body }), 401, 'UNAUTHORIZED');
    expectError(await service.request('/inbound_call', { method: 'POST', body }), 401, 'UNAUTHORIZED');
    const { testKey } = await service.customer();
    const forwarded = { method: 'POST', key: testKey, body: new URLSearchParams(form) };
    expectError(await service.request('/inbound_call', forwarded), 400, 'MISSING_PARAMS', /No agent found/);
    expect(causes).toEqual([]);
  });
});

it('another carrier rejects such a call unanswered in its own format', async () => {
  const account = { carrierAccountId: randomUUID(), authToken: randomBytes(16).toString('base64url') };
  const carrier = await startTestCarrierServer({
    accountId: account.carrierAccountId,
    secret: account.authToken,
    port: 0,
    apiUrl: 'https://calls.test',
  });
  const own = { name: 'default', kind: 'test-carrier', isSimulated: false, ...account };
  const live = { ...own, baseUrl: 'http://127.0.0.1:9', fromNumber: '+12025550199' };
  const other = await startService({
    worker: false,
    carriers: { ...CARRIERS, 'test-carrier': createTestCarrierFactory(carrier.publicKey) },
    adapt: (config) => ({ ...config, carriers: { ...config.carriers, live } }),
  });
  try {
    for (const notice of [{}, { agent_id: 'agent_01JD3Q4Z6WX8Y2V7T5R9S1K0MN' }, { call: 'none' }]) {
      const path = '/carriers/test/calls';
      const notification = { call: randomUUID(), from: '+12025550143', to: '+12025550199', ...notice };
      const { headers, body } = carrier.signed(`${other.config.publicBaseUrl}${path}`, notification);
      const answer = await other.request(path, { method: 'POST', headers, body });
      expect({ status: answer.status, ...answer.json }).toEqual({ status: 200, actions: [{ do: 'decline' }] });
    }
  } finally {
    await other.close();
    await carrier.close();
  }
}, 60_000);
