import { PermanentError } from '../../src/kernel/errors.js';
import { UnsafeCarrierRequest } from '../../src/telephony/errors.js';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { randomBytes } from 'node:crypto';
import { createCarriers } from '../../src/telephony/carriers.js';
import { createTwilioClient } from '../../src/telephony/twilio/client.js';
import { sign } from '../../src/telephony/twilio/signature.js';
import { ProtocolViolation } from '../../src/telephony/media.js';
import { parseCarrierMessage } from '../../src/telephony/twilio/media-codec.js';
import { isFinalStatus } from '../../src/kernel/call-state.js';
import { encodeCrockford } from '../../src/kernel/ids.js';
import { createCarrierBindings } from '../../src/telephony/carrier-bindings.js';
import {
  eventually,
  expectError,
  startService,
  type ServiceResponse,
  type Customer,
  type Service,
} from '../support/http/harness.js';
import { newSid } from '../support/sids.js';
import { callRequest } from '../support/store/call-request.js';

/**
 * Invalid identifiers: with some, a request would reach another resource of the carrier account; the others have the
 * wrong format.
 */
const FORGED = [
  ['goes up the path with backslashes', 'x\\..\\..\\Keys'],
  ['goes up the path after a true prefix', `CA${'0'.repeat(32)}\\..\\..\\..\\Keys`],
  ['goes up the path with slashes', '../../Keys'],
  ['goes up the path with encoded characters', '..%2f..%2fKeys'],
  ['goes up the path with characters encoded twice', '%252e%252e%255cKeys'],
  ['ends the path', 'CA?x='],
  ['ends the path with a fragment', 'CA#'],
  ['names another host', '@127.0.0.1\\x'],
  ['has capital letters', `CA${'A'.repeat(32)}`],
  ['has a lower-case prefix', `ca${'0'.repeat(32)}`],
  ['has another prefix', `AC${'0'.repeat(32)}`],
  ['is one digit too short', `CA${'0'.repeat(31)}`],
  ['is one digit too long', `CA${'0'.repeat(33)}`],
  ['ends with a line break', `CA${'0'.repeat(32)}\n`],
  ['has digits of another script', `CA${'٠'.repeat(32)}`],
  ['contains a NUL', `CA${'0'.repeat(31)}\0`],
  ['is too short', 'CA1'],
] as const;

let service: Service;
let customer: Customer;
let carrier: Server;
/** The method and path, with query, of each request that reached the carrier. */
const carrierRequests: string[] = [];

beforeAll(async () => {
  carrier = createServer((request, response) => {
    carrierRequests.push(`${request.method} ${request.url}`);
    response.writeHead(404, { 'content-type': 'application/json' }).end('{"code":20404,"status":404}');
  });
  await new Promise<void>((resolve) => carrier.listen(0, '127.0.0.1', resolve));
  service = await startService({
    env: { SIMULATOR_URL: `http://127.0.0.1:${(carrier.address() as AddressInfo).port}` },
  });
  customer = await service.customer();
});
beforeEach(() => carrierRequests.splice(0));
afterAll(async () => {
  await service.close();
  await new Promise((resolve) => carrier.close(resolve));
});

const outsideCalls = () =>
  carrierRequests.filter(
    (line) => !/^\w+ \/2010-04-01\/Accounts\/AC[0-9a-f]{32}\/Calls(\/CA[0-9a-f]{32})?\.json(\?|$)/.test(line),
  );

function receive(sid: string, fields: Record<string, string> = {}): Promise<ServiceResponse> {
  const form = { CallSid: sid, From: '+12025550143', To: '+12025550199', agent_id: customer.agent._id, ...fields };
  return service.request('/inbound_call', { method: 'POST', key: customer.liveKey, body: new URLSearchParams(form) });
}

async function counts() {
  const { callRequests, carrierBindings, carrierEvents, calls } = service.database;
  return Promise.all([callRequests, carrierBindings, carrierEvents, calls].map((model) => model.countDocuments()));
}

describe("a forged CallSid never reaches another path of the carrier's API", () => {
  it.each(FORGED)('POST /inbound_call rejects one that %s, and stores and starts nothing', async (_how, sid) => {
    const before = await counts();
    expectError(await receive(sid), 400, 'MISSING_PARAMS', /CallSid/);
    expect(await counts()).toEqual(before);
    expect(carrierRequests).toEqual([]);
  });

  it('the error message names the form of a CallSid', async () => {
    expectError(await receive('CA1'), 400, 'MISSING_PARAMS', /CallSid must be .*CA.*32/);
  });

  it.each(['AC1', `AC${'F'.repeat(32)}`, 'x\\..\\..\\Keys'])(
    'POST /inbound_call rejects the AccountSid %s',
    async (sid) => {
      expectError(
        await receive(newSid('CA'), { AccountSid: sid }),
        400,
        'MISSING_PARAMS',
        /AccountSid must be .*AC.*32/,
      );
    },
  );

  it('cancelling a call with a forged CallSid sends no request outside the calls of the account', async () => {
    const answer = await receive('x\\..\\..\\Keys');
    const [, callId] = /\/(call_[0-9A-Z]{26})"/.exec(answer.text) ?? [];
    if (callId !== undefined) {
      await service.request(`/calls/${callId}/cancel`, { method: 'POST', key: customer.liveKey });
      await eventually(async () => carrierRequests.length > 0);
    }
    expect(outsideCalls()).toEqual([]);
  });

  it.each(FORGED)('a signed callback is rejected with one that %s', async (_how, sid) => {
    const callId = newCallId();
    const before = await counts();
    for (const path of ['twiml', 'status', 'amd', 'transfer-status', 'after-stream', 'fallback'].map(
      (end) => `/carrier/calls/${callId}/${end}`,
    )) {
      const answer = await service.carrierPost(path, { CallSid: sid, CallStatus: 'completed', AnsweredBy: 'human' });
      expectError(answer, 400, 'MISSING_PARAMS', /CallSid must be/);
    }
    const answer = await service.carrierPost('/carrier/status', { CallSid: sid, CallStatus: 'completed' });
    expectError(answer, 400, 'MISSING_PARAMS', /CallSid must be/);
    expect(await counts()).toEqual(before);
  });

  it('a callback with two CallSids is rejected', async () => {
    const { carrierAccountId, authToken } = service.config.carriers.live;
    const params = { AccountSid: carrierAccountId, CallSid: [newSid('CA'), newSid('CA')] };
    const body = new URLSearchParams({ AccountSid: carrierAccountId });
    for (const sid of params.CallSid) body.append('CallSid', sid);
    const url = `${service.config.publicBaseUrl}/carrier/status`;
    const headers = { 'X-Twilio-Signature': sign({ authToken, url, params }) };
    const answer = await service.request('/carrier/status', { method: 'POST', headers, body });
    expectError(answer, 400, 'MISSING_PARAMS', /CallSid must be/);
  });

  it.each(FORGED)('no call is bound to one that %s', async (_how, sid) => {
    const callId = newCallId();
    const { live } = createCarriers({ config: service.config });
    await expect(createCarrierBindings(service.database).bind(callId, sid, live)).rejects.toThrow(RangeError);
    expect(await service.database.carrierBindings.findById(callId)).toBeNull();
  });

  it.each(FORGED)('no media stream starts with one that %s', (_how, sid) => {
    const start = (fields: object) => JSON.stringify({ event: 'start', start: { mediaFormat: {}, ...fields } });
    const sids = { streamSid: newSid('MZ'), callSid: newSid('CA') };
    expect(parseCarrierMessage(start(sids))).toMatchObject({ event: 'start' });
    for (const forged of [{ callSid: sid }, { streamSid: sid }]) {
      expect(() => parseCarrierMessage(start({ ...sids, ...forged }))).toThrow(ProtocolViolation);
    }
  });

  it.each(FORGED)('the carrier client sends no request about one that %s', async (_how, sid) => {
    const { live } = createCarriers({ config: service.config });
    for (const ask of [() => live.hangUp(sid), () => live.limitTo(sid, 60), () => live.fetch(sid)]) {
      await expect(ask()).rejects.toMatchObject({ name: 'UnsafeCarrierRequest' });
    }
    expect(carrierRequests).toEqual([]);
  });

  it.each([
    ['another resource', (sid: string) => `https://api.twilio.com/2010-04-01/Accounts/${sid}/Keys.json`],
    ['the account itself', (sid: string) => `https://api.twilio.com/2010-04-01/Accounts/${sid}.json`],
    ['another account', () => `https://api.twilio.com/2010-04-01/Accounts/${newSid('AC')}/Calls.json`],
    ['a path that goes up', (sid: string) => `https://api.twilio.com/2010-04-01/Accounts/${sid}/Calls/../Keys.json`],
    [
      'a path that goes up with backslashes',
      (sid: string) => `https://x/2010-04-01/Accounts/${sid}/Calls\\..\\Keys.json`,
    ],
    [
      'a subresource of a call',
      (sid: string) => `https://x/2010-04-01/Accounts/${sid}/Calls/${newSid('CA')}/Recordings.json`,
    ],
    ['a query in the URL', (sid: string) => `https://x/2010-04-01/Accounts/${sid}/Calls.json?To=1`],
    ['another version', (sid: string) => `https://x/2011-01-01/Accounts/${sid}/Calls.json`],
  ] as const)('the carrier client rejects %s', async (_what, uriOf) => {
    const account = service.config.carriers.live;
    const client = await createTwilioClient(account);
    await expect(client.request({ method: 'post', uri: uriOf(account.carrierAccountId) })).rejects.toThrow(
      UnsafeCarrierRequest,
    );
    expect(UnsafeCarrierRequest.prototype).toBeInstanceOf(PermanentError);
    expect(carrierRequests).toEqual([]);
  });

  it('a call that an earlier release stored with one ends and sends no request outside the calls of the account', async () => {
    const callId = await storedCall('y\\..\\..\\Keys');
    await service.gateway.hangUp(callId, { cause: 'api_hangup' });
    await eventually(
      async () => isFinalStatus((await service.database.calls.findById(callId))?.status ?? 'IDLE'),
      90_000,
    );
    expect(outsideCalls()).toEqual([]);
  }, 120_000);

  /** Stores and starts an inbound call as an earlier release did. */
  async function storedCall(carrierSid: string): Promise<string> {
    const callId = newCallId();
    const { agent } = customer;
    const request = callRequest({
      _id: callId,
      accountId: agent.accountId,
      direction: 'inbound',
      fromPhoneNumber: '+12025550143',
      toPhoneNumber: '+12025550199',
      agentId: agent._id,
      carrierSid,
    });
    await service.database.callRequests.collection.insertOne(request as never);
    await service.database.carrierBindings.collection.insertOne({
      _id: callId as never,
      carrierSid,
      boundAt: new Date(),
    });
    const { accountId, mode, direction, ringTimeoutSeconds, maxDurationSeconds } = request;
    const limits = { ringTimeoutSeconds, maxDurationSeconds, answerWithinMs: 10_000 };
    const input = { callId, accountId, mode, direction, agentId: agent._id, ...limits, notify: false, carrierSid };
    expect(await service.gateway.start(input, Date.now() + 15_000)).toEqual({ outcome: 'granted' });
    return callId;
  }
});

function newCallId(): string {
  return `call_${encodeCrockford(randomBytes(16))}`;
}
