import { createActivities } from '../../../activities/create-activities.js';
import { reconcileNow } from '../../../src/calls/reconciliation/schedule.js';
import { findMissingAccounts } from '../../../src/calls/steps/missing-accounts.js';
import { parseConfig, type Config } from '../../../src/platform/config/config.js';
import { createLogger } from '../../../src/platform/telemetry/logger.js';
import { createCarriers } from '../../../src/telephony/carriers.js';
import { createSimulator } from '../../../src/telephony/simulator/server.js';
import {
  ACME,
  EUROPE,
  NEVER_ANSWERS,
  PERSON,
  SILENT,
  TALKER,
  THROTTLED_TWICE,
  TWO_ACCOUNTS,
  writeAccountsFile,
} from '../../support/carrier-accounts';
import type { CarrierServer, Ports } from '../../support/carrier-contract/double';
import { startStack, type ContractStack } from '../../support/carrier-contract/stack';
import { eventually, expectError, type Customer } from '../../support/http/harness';

jest.setTimeout(90_000);

const logger = createLogger({ role: 'test', level: 'silent' });
let stack: ContractStack;
let carrierUrl: string;
let customer: Customer;

/** Starts the simulated carrier with three accounts of live calls. That of Acme dials one call in ten seconds. */
async function startCarrier({ api, media, carrier }: Ports): Promise<CarrierServer> {
  const [europe, acme] = TWO_ACCOUNTS.accounts;
  const accounts = [
    { ...europe, calls_per_second: 'unlimited' },
    { ...acme, calls_per_second: 0.1 },
  ];
  carrierUrl = `http://127.0.0.1:${carrier}`;
  const env = {
    SIMULATOR_URL: carrierUrl,
    RECONCILE_GRACE_SECONDS: '0',
    CARRIER_ACCOUNTS_FILE: writeAccountsFile({ ...TWO_ACCOUNTS, accounts }),
  };
  const config = parseConfig({
    NODE_ENV: 'test',
    SIMULATOR_PORT: String(carrier),
    SIMULATOR_TIME_SCALE: '0.3',
    PUBLIC_BASE_URL: `http://127.0.0.1:${api}`,
    STREAM_URL: `ws://127.0.0.1:${media}/stream`,
    ...env,
  });
  const simulator = createSimulator({ config, logger });
  await simulator.listen();
  return { env, doubles: {}, close: () => simulator.close() };
}

beforeAll(async () => {
  stack = await startStack(startCarrier);
  customer = await stack.service.customer();
});
afterAll(() => stack.close());

interface CarrierCall {
  sid: string;
  account_sid: string;
  from: string;
  to: string;
  status: string;
  created_at: string;
}

async function carrierCalls(): Promise<CarrierCall[]> {
  const response = await fetch(`${carrierUrl}/simulator/calls`);
  return ((await response.json()) as { calls: CarrierCall[] }).calls;
}

const findCarrierCall = async (sid: string) => (await carrierCalls()).find((call) => call.sid === sid);

async function place(to: string, by: Customer = customer): Promise<string> {
  const response = await stack.service.place(by.liveKey, { to_phone_number: to, agent_id: by.agent._id });
  expect(response.status).toBe(200);
  return String(response.json['call_id']);
}

/** Waits until the carrier has the call. Returns the carrier's record of it. */
async function dialed(callId: string): Promise<CarrierCall> {
  return eventually(async () => {
    const binding = await stack.bindingOf(callId);
    return binding !== null && findCarrierCall(binding.carrierSid);
  });
}

const cancel = (callId: string, by: Customer = customer) =>
  stack.service.request(`/calls/${callId}/cancel`, { method: 'POST', key: by.liveKey });

const accountsOf = async (callId: string) => [
  (await stack.requestOf(callId))?.carrierAccountId,
  (await stack.bindingOf(callId))?.carrierAccountId,
];

/** The configuration after the account of Europe was removed. */
function withoutEurope(): Config {
  const { config } = stack.service;
  const { carriers } = config;
  return { ...config, carriers: { ...carriers, further: carriers.further.filter(({ name }) => name !== 'europe') } };
}

describe('a call on an account of its region', () => {
  it('is dialed, streamed and ended by that account, from its number', async () => {
    const callId = await place(SILENT);
    const { scripted, sink, binding } = await stack.conversationOf(callId);
    expect(await findCarrierCall(binding.carrierSid)).toMatchObject({
      account_sid: EUROPE.account_sid,
      from: EUROPE.from_number,
      status: 'in-progress',
    });
    expect(await accountsOf(callId)).toEqual([EUROPE.account_sid, EUROPE.account_sid]);
    sink.sendAudio('item', Buffer.alloc(1_600, 0x7f));
    sink.endItem('item');
    await eventually(async () => scripted.played.some(({ complete }) => complete));
    sink.end('agent_hangup');
    const ended = await stack.ended(callId);
    expect(ended).toMatchObject({
      status: 'COMPLETED',
      endReason: 'agent_hangup',
      fromPhoneNumber: EUROPE.from_number,
    });
    // The carrier reports the callbacks of this account, and they are counted.
    await eventually(async () => (await stack.timeline(callId)).some(({ status }) => status === 'completed'));
  });

  it('is canceled at that account', async () => {
    const callId = await place(NEVER_ANSWERS);
    const { sid, account_sid: account } = await dialed(callId);
    expect(account).toBe(EUROPE.account_sid);
    expect((await cancel(callId)).status).toBe(200);
    await eventually(async () => (await findCarrierCall(sid))?.status === 'canceled');
    expect(await stack.ended(callId)).toMatchObject({ status: 'CANCELLED' });
  });

  it('stays there when the dial is repeated', async () => {
    const callId = await place(THROTTLED_TWICE);
    expect(await dialed(callId)).toMatchObject({ account_sid: EUROPE.account_sid, from: EUROPE.from_number });
    await cancel(callId);
    await stack.ended(callId);
  });

  it('receives calls that this account announces', async () => {
    const number = '+442071838760';
    const { account, agent } = await stack.service.customer();
    await stack.service.phoneNumbers.add({ number, accountId: account._id, agentId: agent._id });
    const inbound = { to: EUROPE.from_number, from: '+442071838761', forwarded_from: number, script: '07' };
    const response = await fetch(`${carrierUrl}/simulator/inbound`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...inbound, account: 'europe' }),
    });
    const { sid } = (await response.json()) as CarrierCall;
    const binding = await eventually(() => stack.service.database.carrierBindings.findOne({ carrierSid: sid }).lean());
    expect(await accountsOf(binding._id)).toEqual([EUROPE.account_sid, EUROPE.account_sid]);
    const { sink } = await stack.conversationOf(binding._id);
    sink.end('agent_hangup');
    expect(await stack.ended(binding._id)).toMatchObject({ status: 'COMPLETED', direction: 'inbound' });
  });
});

describe('other calls', () => {
  it('use the account default', async () => {
    const callId = await place(PERSON);
    const { carrierAccountId, fromNumber } = stack.service.config.carriers.live;
    expect(await dialed(callId)).toMatchObject({ account_sid: carrierAccountId, from: fromNumber });
    await cancel(callId);
    await stack.ended(callId);
  });

  it('use the pool of their customer, and a number of the customer there', async () => {
    const acme = await stack.service.customer();
    await stack.service.accounts.setCarrierPool(acme.account._id, 'acme');
    const [number, accountId] = ['+12025550187', acme.account._id];
    await stack.service.phoneNumbers.add({ number, accountId, carrierAccount: 'acme' });
    const callId = await place(PERSON, acme);
    expect(await dialed(callId)).toMatchObject({ account_sid: ACME.account_sid, from: number });
    await cancel(callId, acme);
    await stack.ended(callId);
  });

  it('get 503 before anything is stored if the pool of their customer is not configured', async () => {
    const { account, agent, liveKey } = await stack.service.customer();
    await stack.service.accounts.setCarrierPool(account._id, 'gone');
    const before = await stack.service.countCallRequests();
    const response = await stack.service.place(liveKey, { to_phone_number: PERSON, agent_id: agent._id });
    expectError(response, 503, 'SERVICE_UNAVAILABLE', /Ask the operator/);
    expect(await stack.service.countCallRequests()).toBe(before);
  });
});

describe('dial slots', () => {
  it('are those of the account, so a full queue delays no call of another account', async () => {
    const acme = await stack.service.customer();
    await stack.service.accounts.setCarrierPool(acme.account._id, 'acme');
    await stack.service.database.dialPacing.deleteMany({});
    const first = await place(PERSON, acme);
    await dialed(first);
    const waiting = await place(PERSON, acme);
    await eventually(() => stack.service.database.calls.exists({ _id: waiting, waitingFor: 'dial_slot' }));
    const other = await place(NEVER_ANSWERS);
    await dialed(other);
    expect(await stack.bindingOf(waiting)).toBeNull();
    const queues = await stack.service.database.dialPacing.find().lean();
    expect(queues.map(({ _id }) => _id)).toEqual([ACME.account_sid]);
    for (const [callId, by] of [
      [first, acme],
      [waiting, acme],
      [other, customer],
    ] as const) {
      await cancel(callId, by);
      await stack.ended(callId);
    }
  });

  it('are taken at the same account by another worker, if the first one stops before it dials', async () => {
    const { database } = stack.service;
    const acme = await stack.service.customer();
    await stack.service.accounts.setCarrierPool(acme.account._id, 'acme');
    const nextSlotAt = Date.now() + 6_000;
    await database.dialPacing.updateOne({ _id: ACME.account_sid }, { $set: { nextSlotAt, waiting: {} } });
    const callId = await place(PERSON, acme);
    await eventually(() => database.calls.exists({ _id: callId, waitingFor: 'dial_slot' }));
    // From now on the region has another pool, and the customer none: a choice made again would differ.
    await stack.service.accounts.setCarrierPool(acme.account._id, null);
    await stack.service.restartWorker();
    expect(await dialed(callId)).toMatchObject({ account_sid: ACME.account_sid, from: ACME.from_number });
    await cancel(callId, acme);
    await stack.ended(callId);
  });
});

describe('reconciliation', () => {
  it('ends a call whose workflow was terminated at the account of the call', async () => {
    const { config, database } = stack.service;
    const callId = await place(SILENT);
    const { binding } = await stack.conversationOf(callId);
    await stack.service.terminate(callId);
    const ended = await eventually(async () => {
      await database.reconciliationChecks.updateMany({}, { $set: { dueAt: new Date(0) } });
      await reconcileNow(config, 60_000);
      return database.calls.findOne({ _id: callId, endTime: { $ne: null } }).lean();
    });
    expect(ended).toMatchObject({ status: 'COMPLETED', endReason: 'internal_error' });
    expect(await findCarrierCall(binding.carrierSid)).toMatchObject({
      account_sid: EUROPE.account_sid,
      status: 'completed',
    });
  });
});

describe('an account that a worker does not know yet', () => {
  it('has its calls dialed by the next worker that knows it', async () => {
    await stack.service.restartWorker(withoutEurope().carriers);
    const callId = await place(NEVER_ANSWERS);
    // Three attempts that prove to have placed no call take 3 s.
    await new Promise((resolve) => setTimeout(resolve, 6_000));
    const before = [await stack.bindingOf(callId), await stack.service.database.calls.findById(callId).lean()];
    await stack.service.restartWorker();
    expect(before).toEqual([null, expect.not.objectContaining({ endTime: expect.anything() as unknown })]);
    expect(await dialed(callId)).toMatchObject({ account_sid: EUROPE.account_sid });
    await cancel(callId);
    await stack.ended(callId);
  });
});

describe('an account that was removed from the configuration', () => {
  it('fails requests about its calls without sending them, until it is configured again', async () => {
    const { config, database } = stack.service;
    const callId = await place(NEVER_ANSWERS);
    const { sid } = await dialed(callId);
    const call = { mode: 'live' as const, carrierSid: sid, carrierAccountId: EUROPE.account_sid };
    const without = withoutEurope();
    const removed = createActivities({
      config: without,
      database,
      carriers: createCarriers({ config: without }),
      logger,
    });
    for (const request of [
      () => removed.hangUpCall(call),
      () => removed.fetchCarrierCall(call),
      () => removed.limitCall({ ...call, seconds: 60 }),
    ]) {
      await expect(request()).rejects.toThrow(
        `The carrier account ${EUROPE.account_sid} of the call is not configured: add it to CARRIER_ACCOUNTS_FILE again.`,
      );
    }
    const dial = { callId, mode: 'live' as const, ringTimeoutSeconds: 30, timeLimitSeconds: 60 };
    expect(await removed.dialCallee(dial)).toEqual({ outcome: 'throttled', afterMs: 1_000 });
    expect((await findCarrierCall(sid))?.status).toMatch(/queued|ringing/);
    const restored = createActivities({ config, database, carriers: createCarriers({ config }), logger });
    await restored.hangUpCall(call);
    expect(await findCarrierCall(sid)).toMatchObject({ status: 'canceled' });
    await stack.ended(callId);
  });

  it('is found at the start of a worker while its calls may be in progress', async () => {
    const { config, database } = stack.service;
    expect(await findMissingAccounts(config, database)).toEqual([]);
    expect(await findMissingAccounts(withoutEurope(), database)).toEqual([EUROPE.account_sid]);
  });
});

describe('a call of an earlier release', () => {
  it('is a call of the account default', async () => {
    const callId = await place(TALKER);
    const { sid } = await dialed(callId);
    const { config, database } = stack.service;
    const activities = createActivities({ config, database, carriers: createCarriers({ config }), logger });
    await activities.hangUpCall({ mode: 'live', carrierSid: sid });
    expect((await findCarrierCall(sid))?.status).toMatch(/^(canceled|completed)$/);
    await stack.ended(callId);
  });
});
