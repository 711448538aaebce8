import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import Koa from 'koa';
import { handleErrors } from '../../src/api/errors.js';
import { createStatusHandlers } from '../../src/calls/callbacks/status.js';
import { createCallRequests } from '../../src/calls/call-requests.js';
import { createAuthenticator } from '../../src/identity/access/authentication.js';
import type { RequestState } from '../../src/platform/http/context.js';
import { createFailureLimiter, createRateLimiter } from '../../src/platform/http/rate-limits/rate-limit.js';
import { requestId } from '../../src/platform/http/request-id.js';
import { createSignedRequests } from '../../src/platform/http/signed-requests.js';
import { createLogger } from '../../src/platform/telemetry/logger.js';
import type { CallInstruction, CallInstructions, CarrierEventHandlers } from '../../src/telephony/callbacks.js';
import { createCarrierBindings } from '../../src/telephony/carrier-bindings.js';
import { createCarrierEvents } from '../../src/telephony/carrier-events.js';
import { createCarrierRoutes, createCarriers } from '../../src/telephony/carriers.js';
import { sign } from '../../src/telephony/twilio/signature.js';
import { parseStatusReport } from '../../src/telephony/twilio/reports.js';
import {
  defaultAccountOf,
  EUROPE,
  NEVER_ANSWERS,
  postSignedBy,
  startAcceptingCarrier,
  TWO_ACCOUNTS,
  writeAccountsFile,
} from '../support/carrier-accounts';
import { eventually, startService, type Customer, type Service } from '../support/http/harness.js';
import { newSid } from '../support/sids.js';

const logger = createLogger({ role: 'test', level: 'silent' });
/** Maximum status callbacks stored of a call. */
const MAX_STORED = 100;
/** Maximum requests of one account that run at once. */
const AT_ONCE = 10;

let service: Service;
let customer: Customer;
let sid: string;
let callId: string;
let carrier: Awaited<ReturnType<typeof startAcceptingCarrier>>;

beforeAll(async () => {
  carrier = await startAcceptingCarrier(() => sid);
  service = await startService({
    env: { SIMULATOR_URL: carrier.url, CARRIER_ACCOUNTS_FILE: writeAccountsFile(TWO_ACCOUNTS) },
  });
  customer = await service.customer();
}, 60_000);
afterAll(async () => {
  await service.close();
  await carrier.close();
});

describe('status callbacks with ever new numbers', () => {
  const post = async (CallStatus: string, more: Record<string, string> = {}) =>
    (await postSignedBy(service, EUROPE, `/carrier/calls/${callId}/status`, { CallSid: sid, CallStatus, ...more }))
      .status;
  /** Counts the signals in the call's history, where those that arrive during a step of the workflow come after it. */
  const signals = async () => {
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    return service.countSignals(callId);
  };
  const stored = (more: object = {}) => service.database.carrierEvents.countDocuments({ callId, ...more });

  beforeEach(async () => {
    sid = newSid('CA');
    const call = { to_phone_number: NEVER_ANSWERS, agent_id: customer.agent._id };
    callId = String((await service.place(customer.liveKey, call)).json['call_id']);
    await eventually(() => service.database.carrierBindings.exists({ _id: callId, carrierSid: sid }));
  });

  it('are stored up to a limit, and signal the call once', async () => {
    const statuses = ['in-progress', 'ringing', 'made-up'];
    for (let n = 0; n < 3 * MAX_STORED; n++) {
      const number = n % 2 === 0 ? { SequenceNumber: String(n) } : {};
      expect(await post(statuses[n % 3] + (n % 9 === 8 ? String(n) : ''), number)).toBe(200);
    }
    expect(await stored()).toBeLessThan(MAX_STORED);
    expect(await signals()).toBe(1);
  }, 60_000);

  it('signal the call once also if several processes receive them', async () => {
    const { database, gateway } = service;
    for (const SequenceNumber of ['1', '2', '3']) {
      const process = createStatusHandlers({
        gateway,
        requests: createCallRequests(database),
        bindings: createCarrierBindings(database),
        carrierEvents: createCarrierEvents(database),
        logger,
      });
      const carrier = createCarriers({ config: service.config }).further?.find(
        ({ account }) => account?.name === 'europe',
      );
      if (carrier === undefined) throw new Error('There is no such account.');
      const report = parseStatusReport(sid, { CallStatus: 'in-progress', SequenceNumber }, Date.now());
      await process.handleStatus(callId, { mode: 'live', carrier, carrierSid: sid }, report);
    }
    expect(await stored({ status: 'in-progress' })).toBe(3);
    expect(await signals()).toBe(1);
  });

  it('do not keep the end of the call from being stored and from ending it', async () => {
    for (let n = 0; n < MAX_STORED; n++) await post('in-progress', { SequenceNumber: String(n) });
    // The detected callee is new, so it reaches the call.
    await post('in-progress', { SequenceNumber: '3', AnsweredBy: 'human' });
    expect(await signals()).toBe(2);
    expect(await post('failed', { SequenceNumber: '4' })).toBe(200);
    await eventually(() => service.database.calls.exists({ _id: callId, answeredBy: 'human', endTime: { $ne: null } }));
    expect(await stored({ status: 'failed', sequence: 4 })).toBe(1);
    expect(await stored()).toBeLessThan(MAX_STORED);
  }, 60_000);
});

/** Starts the carrier's routes. All requests that they admit stay in progress until `finish`. */
async function startRoutes(config: Service['config'], maxInFlight = 1_000) {
  let running = 0;
  let finish = (): void => undefined;
  const finished = new Promise<void>((resolve) => (finish = resolve));
  const held = async () => {
    running += 1;
    await finished;
  };
  const failureLimiter = createFailureLimiter(config);
  const signedRequests = createSignedRequests({ failureLimiter, maxInFlight });
  const rateLimiter = createRateLimiter(service.database);
  const deps = { config, database: service.database, rateLimiter, failureLimiter, signedRequests };
  const routes = createCarrierRoutes({
    carriers: createCarriers({ config }),
    publicBaseUrl: config.publicBaseUrl,
    signedRequests,
    authenticator: createAuthenticator(deps),
    logger,
    events: { handleStatusBySid: held } as unknown as CarrierEventHandlers,
    instructions: {
      receiveCall: async (): Promise<CallInstruction> => {
        await held();
        return { kind: 'hang_up' };
      },
    } as unknown as CallInstructions,
  });
  const app = new Koa<RequestState>()
    .use(requestId(logger, { errorDocs: '', minDeadlineMs: 10_000 }))
    .use(handleErrors(logger))
    .use(signedRequests.middleware)
    .use(async (ctx) => {
      ctx.body = await routes.find(({ route }) => route.path === ctx.path)?.handle({ ctx });
    });
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    running: () => running,
    finish: () => finish(),
    /** Sends a signed request. Resolves to its status, and to whether the call was not rejected. */
    async post(signer: { account_sid: string; auth_token: string }, path = '/carrier/status') {
      const call = { CallSid: newSid('CA'), From: '+12025550143', To: '+12025550199', CallStatus: 'ringing' };
      const params = { AccountSid: signer.account_sid, ...call };
      const url = `${config.publicBaseUrl}${path}`;
      const headers = { 'X-Twilio-Signature': sign({ authToken: signer.auth_token, url, params }) };
      const body = new URLSearchParams(params);
      const response = await fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', headers, body });
      const text = await response.text();
      return { status: response.status, retryAfter: response.headers.get('retry-after'), text };
    },
    async close() {
      finish();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Waits until the number of running requests is this, and does not grow afterwards. */
async function expectRunning(routes: { running: () => number }, count: number): Promise<void> {
  await eventually(async () => routes.running() >= count);
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(routes.running()).toBe(count);
}

describe('signed requests of one carrier account', () => {
  it.each(['/carrier/status', '/inbound_call'])(
    'run ten at once at %s, and delay only those of this account',
    async (path) => {
      const routes = await startRoutes(service.config);
      const sent = Array.from({ length: 3 * AT_ONCE }, () => routes.post(EUROPE, path));
      await expectRunning(routes, AT_ONCE);
      const others = [routes.post(defaultAccountOf(service)), routes.post(defaultAccountOf(service), '/inbound_call')];
      await expectRunning(routes, AT_ONCE + 2);
      routes.finish();
      for (const { status } of await Promise.all([...sent, ...others])) expect(status).toBe(200);
      expect(routes.running()).toBe(3 * AT_ONCE + 2);
      await routes.close();
    },
    30_000,
  );

  it('get 503 when they are as many as there is room for others, which are admitted', async () => {
    const routes = await startRoutes(service.config, 30);
    const sent = Array.from({ length: 40 }, () => routes.post(EUROPE));
    await expectRunning(routes, AT_ONCE);
    const others = Array.from({ length: 7 }, () => routes.post(defaultAccountOf(service)));
    await expectRunning(routes, AT_ONCE + 7);
    routes.finish();
    const answers = await Promise.all(sent);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(15);
    const rejected = answers.filter(({ status }) => status === 503);
    expect(rejected).toHaveLength(25);
    expect(new Set(rejected.map(({ retryAfter }) => retryAfter))).toEqual(new Set(['1']));
    for (const { status } of await Promise.all(others)) expect(status).toBe(200);
    await routes.close();
  }, 30_000);

  it('all run at once if it is the only account', async () => {
    const { carriers } = service.config;
    const routes = await startRoutes({ ...service.config, carriers: { ...carriers, further: [] } }, 40);
    const sent = Array.from({ length: 40 }, () => routes.post(defaultAccountOf(service)));
    await expectRunning(routes, 40);
    routes.finish();
    for (const { status } of await Promise.all(sent)) expect(status).toBe(200);
    await routes.close();
  }, 30_000);
});
