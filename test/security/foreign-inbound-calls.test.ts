import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createSimulator } from '../../src/telephony/simulator/server.js';
import { createLogger } from '../../src/platform/telemetry/logger.js';
import { parseConfig } from '../../src/platform/config/config.js';
import { eventually, expectError, startService, type Customer, type Service } from '../support/http/harness.js';
import { newSid } from '../support/sids.js';
import { CARRIER_SID, CARRIER_TOKEN, REAL_CARRIER } from './support/real-carrier';

const CALLER = '+12025550100';
const OWN = '+12025550181';
const FOREIGN = '+12025550182';
const SHARED = '+12025550199';

/** The TwiML of every number of the carrier. It makes the call wait, and the service gets no callback. */
const WAIT = '<Response><Pause length="600"/></Response>';

let forwarder: Server;
let simulator: ReturnType<typeof createSimulator>;
let carrierUrl: string;
let service: Service;
let customer: Customer;
beforeAll(async () => {
  forwarder = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { 'content-type': 'text/xml' }).end(WAIT);
  }).listen(0, '127.0.0.1');
  await once(forwarder, 'listening');
  const config = parseConfig({
    NODE_ENV: 'test',
    SIMULATOR_PORT: '0',
    SIMULATOR_ACCOUNT_SID: CARRIER_SID,
    SIMULATOR_AUTH_TOKEN: CARRIER_TOKEN,
  });
  simulator = createSimulator({ config, logger: createLogger({ role: 'test', level: 'silent' }) });
  const { port } = await simulator.listen();
  carrierUrl = `http://127.0.0.1:${port}`;
  service = await startService({ env: { ...REAL_CARRIER, CARRIER_BASE_URL: carrierUrl } });
  customer = await service.customer();
  const other = await service.customer();
  await service.phoneNumbers.add({ number: OWN, accountId: customer.account._id });
  await service.phoneNumbers.add({ number: FOREIGN, accountId: other.account._id });
});
afterAll(async () => {
  await service.close();
  await simulator.close();
  forwarder.close();
});

/** Makes the carrier receive a call. Resolves when the carrier has answered it. */
async function startInboundCall(to: string, more: Record<string, string> = {}): Promise<string> {
  const { port } = forwarder.address() as AddressInfo;
  const call = { to, from: CALLER, script: '07', url: `http://127.0.0.1:${port}/`, ...more };
  const answer = await fetch(`${carrierUrl}/simulator/inbound`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(call),
  });
  expect(answer.status).toBe(201);
  return ((await answer.json()) as { sid: string }).sid;
}

const credentials = `Basic ${Buffer.from(`${CARRIER_SID}:${CARRIER_TOKEN}`).toString('base64')}`;
const accountUrl = () => `${carrierUrl}/2010-04-01/Accounts/${CARRIER_SID}`;

async function postToCarrier(path: string, form: Record<string, string>): Promise<{ sid: string }> {
  const answer = await fetch(`${accountUrl()}${path}`, {
    method: 'POST',
    headers: { authorization: credentials },
    body: new URLSearchParams(form),
  });
  return (await answer.json()) as { sid: string };
}

const hangUp = (sid: string) => postToCarrier(`/Calls/${sid}.json`, { Status: 'completed' });

function forwardCall(
  CallSid: string,
  more: Record<string, string> = {},
  of: Service = service,
  who: Customer = customer,
) {
  const form = { CallSid, From: CALLER, To: OWN, agent_id: who.agent._id, ...more };
  return of.request('/inbound_call', { method: 'POST', key: who.liveKey, body: new URLSearchParams(form) });
}

describe('a carrier’s call that an API key forwards', () => {
  async function expectRejected(sid: string, more: Record<string, string> = {}): Promise<void> {
    const before = await service.countCallRequests();
    expectError(await forwardCall(sid, more), 403, 'FORBIDDEN', /CallSid/);
    expect(await service.countCallRequests()).toBe(before);
    expect(await service.database.carrierBindings.countDocuments({ carrierSid: sid })).toBe(0);
  }

  it('is rejected if it does not exist', () => expectRejected(newSid('CA')));

  it('is rejected if it was placed, not received', async () => {
    const { port } = forwarder.address() as AddressInfo;
    const placed = { To: OWN, From: CALLER, Url: `http://127.0.0.1:${port}/` };
    const { sid } = await postToCarrier('/Calls.json', placed);
    await expectRejected(sid);
    await hangUp(sid);
  });

  it('is rejected if it goes to a number of another account, whatever the form says', async () => {
    const sid = await startInboundCall(FOREIGN);
    await expectRejected(sid);
    await expectRejected(sid, { To: FOREIGN });
    await expectRejected(sid, { To: FOREIGN, ForwardedFrom: OWN });
    await hangUp(sid);
  });

  it('is rejected if a number of another account forwarded it to a number without an account', async () => {
    const sid = await startInboundCall(SHARED, { forwarded_from: FOREIGN });
    for (const forwarded of [{}, { ForwardedFrom: FOREIGN }, { ForwardedFrom: OWN }]) {
      await expectRejected(sid, { To: SHARED, ...forwarded });
    }
    await hangUp(sid);
  });

  it('is rejected after it has ended', async () => {
    const sid = await startInboundCall(OWN);
    await hangUp(sid);
    await eventually(async () => {
      const call = await fetch(`${accountUrl()}/Calls/${sid}.json`, { headers: { authorization: credentials } });
      return ((await call.json()) as { end_time: string | null }).end_time !== null;
    });
    await expectRejected(sid);
  });

  it('is accepted if it goes to a number of the account; a repeat gets the same response even after its end', async () => {
    const sid = await startInboundCall(OWN);
    const taken = await forwardCall(sid);
    expect(taken.status).toBe(200);
    await hangUp(sid);
    expect((await forwardCall(sid)).text).toBe(taken.text);
  });

  it('is accepted if a number of the account forwarded it to a number without an account', async () => {
    const sid = await startInboundCall(SHARED, { forwarded_from: OWN });
    expect((await forwardCall(sid, { To: SHARED, ForwardedFrom: OWN })).status).toBe(200);
    await hangUp(sid);
  });

  it('is always accepted with a test key, since its carrier is the simulated one', async () => {
    const form = { CallSid: newSid('CA'), From: CALLER, To: OWN, agent_id: customer.agent._id };
    const body = new URLSearchParams(form);
    expect((await service.request('/inbound_call', { method: 'POST', key: customer.testKey, body })).status).toBe(200);
  });
});

describe('a call that an API key forwards while the carrier does not respond', () => {
  it.each(['unreachable', 'silent'])('is rejected in time with 503 and Retry-After: carrier %s', async (how) => {
    const silent = createServer(() => undefined).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const port = how === 'silent' ? (silent.address() as AddressInfo).port : 9;
    const cutOff = await startService({
      minDeadlineMs: 0,
      worker: false,
      env: { ...REAL_CARRIER, CARRIER_BASE_URL: `http://127.0.0.1:${port}` },
    });
    try {
      const owner = await cutOff.customer();
      await cutOff.phoneNumbers.add({ number: OWN, accountId: owner.account._id });
      const answer = await forwardCall(newSid('CA'), {}, cutOff, owner);
      expectError(answer, 503, 'SERVICE_UNAVAILABLE');
      expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
      expect(await cutOff.countCallRequests()).toBe(0);
      expect(await cutOff.database.carrierBindings.countDocuments({})).toBe(0);
    } finally {
      await cutOff.close();
      silent.closeAllConnections();
      silent.close();
    }
  });
});
