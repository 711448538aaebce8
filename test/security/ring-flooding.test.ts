import { createCallRequests } from '../../src/calls/call-requests.js';
import { createCallGate } from '../../src/calls/wiring.js';
import { setTimeout as wait } from 'node:timers/promises';
import type { Mode } from '../../src/kernel/ids.js';
import { createPlansLoader } from '../../src/platform/numbering/national-plans.js';
import { createUnansweredAttempts } from '../../src/telephony/destinations/unanswered-attempts.js';
import { eventually, expectError, startService, type Customer } from '../support/http/harness.js';
import { newCallId } from '../support/store/test-database.js';
import { newSid } from '../support/sids.js';
import { REAL_CARRIER } from './support/real-carrier.js';
import { startTelephoneStack, type TelephoneStack } from './support/telephone-stack';
import { callRequest } from '../support/store/call-request.js';

/** Only one test calls this number. */
const RUNG_BEFORE = '+12025550152';
/**
 * Callees of the simulated carrier: one never answers; one answers and hangs up at once; one answers and stays silent;
 * one answers and keeps talking.
 */
const NEVER_ANSWERS = '+12025550102';
const HANGS_UP = '+12025550106';
const SILENT = '+12025550107';
const KEEPS_TALKING = '+12025550108';

let stack: TelephoneStack;
beforeAll(async () => {
  stack = await startTelephoneStack({ carrier: 'twilio', env: { RING_SECONDS: '5' } });
}, 120_000);
afterAll(() => stack.close());
beforeEach(async () => {
  await stack.service.database.unansweredAttempts.deleteMany({});
});

const order = (to: string) => ({ to_phone_number: to, instruction: 'Hello.' });
const statusesOf = (answers: { status: number }[]) => answers.map(({ status }) => status).toSorted((a, b) => a - b);

/**
 * Places a call. A busy machine may respond with 503, and then the request is repeated; with the same idempotency key
 * it means the same call.
 */
async function place(customer: Customer, to: string, key: string): Promise<string> {
  const answer = await eventually(async () => {
    const given = await stack.service.place(customer.liveKey, order(to), { 'Idempotency-Key': key });
    return given.status !== 503 && given;
  });
  expect([answer.status, answer.json['error_code']]).toEqual([200, undefined]);
  return String(answer.json['call_id']);
}

async function attempts(): Promise<number> {
  const rows = await stack.service.database.unansweredAttempts.find().lean();
  return rows.reduce((sum, { count }) => sum + count, 0);
}

/**
 * Waits until this many attempts are counted. An attempt is counted when the carrier is asked to dial, soon after the
 * API's response.
 */
const waitForAttempts = (count: number) => eventually(async () => (await attempts()) === count);

async function callsTo(number: string) {
  return (await stack.carrierCalls()).filter(({ to }) => to === number);
}

describe('a number that does not answer', () => {
  it('is rung five times an hour by all accounts together', async () => {
    const { service } = stack;
    const customers: Customer[] = [];
    for (let n = 0; n < 4; n++) customers.push(await service.customer());
    const placed: string[] = [];
    for (const n of [0, 1, 0, 2, 3]) {
      placed.push(await place(customers[n]!, NEVER_ANSWERS, `attempt ${placed.length}`));
    }
    await waitForAttempts(5);
    const rejection = await service.place(customers[0]!.liveKey, order(NEVER_ANSWERS));
    expectError(rejection, 403, 'SPEND_LIMIT_EXCEEDED', /limit of unanswered attempts/);
    expect((await service.place(customers[0]!.liveKey, order('+12025550142'))).status).toBe(200);
    expect((await service.place(customers[0]!.testKey, order(NEVER_ANSWERS))).status).toBe(200);
    // The database contains the phone number neither in the ids of the attempts nor anywhere else.
    expect(JSON.stringify(await service.database.unansweredAttempts.find().lean())).not.toContain('2025550102');
    for (const callId of placed) expect(await stack.waitForEnd(callId)).toMatchObject({ endReason: 'no_answer' });
    expectError(await service.place(customers[1]!.liveKey, order(NEVER_ANSWERS)), 403, 'SPEND_LIMIT_EXCEEDED');
  }, 120_000);

  it('is recognized with surplus digits, which networks ignore', async () => {
    const { service } = stack;
    const customer = await service.customer();
    for (let n = 0; n < 3; n++) await place(customer, NEVER_ANSWERS, `spelled ${n}`);
    await waitForAttempts(3);
    for (const more of ['0', '17', '1234']) {
      const rejection = await service.place(customer.liveKey, order(`${NEVER_ANSWERS}${more}`));
      expectError(rejection, 403, 'SPEND_LIMIT_EXCEEDED', /limit of unanswered attempts/);
    }
    expect(await attempts()).toBe(3);
  });

  it('is counted and released alike with surplus digits', async () => {
    const { service } = stack;
    const { account } = await service.customer();
    const { config, database } = service;
    const gate = createCallGate({ config, database });
    const dial = { account, mode: 'live', callId: newCallId(), leg: 'call', to: `${NEVER_ANSWERS}77` } as const;
    expect(await gate.count(dial)).toBeUndefined();
    expect(await attempts()).toBe(1);
    await gate.release(dial);
    expect(await attempts()).toBe(0);
    const transfer = { account, mode: 'live', callId: newCallId(), leg: 'transfer', to: `${NEVER_ANSWERS}8` } as const;
    expect(await gate.count(transfer)).toBeUndefined();
    await gate.markTransferAnswered(transfer.callId, transfer.to);
    expect(await attempts()).toBe(0);
  });

  it('is counted exactly, however many requests arrive at once', async () => {
    const { database } = stack.service;
    const loadPlans = createPlansLoader();
    const ask = () =>
      createUnansweredAttempts({ database, pepper: 'p', loadPlans }).count(
        { callId: newCallId(), leg: 'call', to: '+442079460999' },
        5,
      );
    const counted = await Promise.all(Array.from({ length: 30 }, ask));
    expect(counted.filter(Boolean)).toHaveLength(5);
    expect(await attempts()).toBe(5);
  });

  it('reveals no attempts of one account to another', async () => {
    const { service } = stack;
    const [one, other] = [await service.customer(), await service.customer()];
    for (let n = 0; n < 3; n++) await place(one, NEVER_ANSWERS, `own ${n}`);
    for (let n = 0; n < 2; n++) await place(await service.customer(), NEVER_ANSWERS, `others ${n}`);
    await waitForAttempts(5);
    const rejection = await service.place(other.liveKey, order(NEVER_ANSWERS));
    expectError(rejection, 403, 'SPEND_LIMIT_EXCEEDED', /^This number has reached its limit of unanswered attempts/);
    expect(rejection.json).not.toHaveProperty('limit');
  });

  it('is not counted for requests without a hold, nor for those that end with 503', async () => {
    const { service } = stack;
    const { mongodbUri, temporal } = service.config;
    // No worker serves this task queue, so none of its calls starts.
    const idle = await startService({
      minDeadlineMs: 0,
      worker: false,
      env: { ...REAL_CARRIER, MONGODB_URI: mongodbUri, TEMPORAL_TASK_QUEUE: `${temporal.taskQueues.calls}-idle` },
    });
    try {
      const { account, liveKey } = await service.customer();
      const count = () => service.database.callRequests.countDocuments({ accountId: account._id });
      // A slow machine may end the first requests before the last are stored.
      const { answers } = await eventually(async () => {
        const answers = Promise.all(Array.from({ length: 5 }, () => idle.place(liveKey, order(NEVER_ANSWERS))));
        const ended = answers.then(() => true);
        while ((await count()) < 5) if (await Promise.race([ended, wait(20)])) return undefined;
        return { answers };
      });
      await place(await service.customer(), NEVER_ANSWERS, 'meanwhile');
      expect(statusesOf(await answers)).toEqual([503, 503, 503, 503, 503]);
      await place(await service.customer(), NEVER_ANSWERS, 'after the 503s');
    } finally {
      await idle.close({ databaseIsClosed: true });
      await idle.database.close();
    }
  }, 60_000);

  it('is not rung beyond the limit by simultaneous requests: the rest end as rejected and cost nothing', async () => {
    const { service } = stack;
    const customers = await Promise.all(Array.from({ length: 3 }, () => service.customer()));
    const before = (await callsTo(NEVER_ANSWERS)).length;
    const keys = customers.flatMap(({ liveKey }) => Array.from({ length: 4 }, () => liveKey));
    const answers = await Promise.all(keys.map((key) => service.place(key, order(NEVER_ANSWERS))));
    const ids = answers.flatMap(({ status, json }) => (status === 200 ? [String(json['call_id'])] : []));
    const ended = await Promise.all(ids.map((id) => stack.waitForEnd(id)));
    expect((await callsTo(NEVER_ANSWERS)).length - before).toBeLessThanOrEqual(5);
    for (const call of ended) expect(call).toMatchObject({ status: 'FAILED', costMicros: 0 });
    expect(await attempts()).toBeLessThanOrEqual(5);
  }, 120_000);

  it('is not dialed if its attempts were used up before the dial', async () => {
    const { config, database, customer } = stack.service;
    const gate = createCallGate({ config, database });
    const { account, agent } = await customer();
    const of = { accountId: account._id, mode: 'live' as const };
    const attempt = { ...of, callId: newCallId(), leg: 'call' as const, to: RUNG_BEFORE };
    for (let n = 0; n < 3; n++) {
      const counted = n === 0 ? attempt : { ...attempt, callId: newCallId() };
      expect(await gate.countAttempt(counted)).toBe(true);
    }
    // A second dial of the same call counts as the same attempt.
    expect(await gate.countAttempt(attempt)).toBe(true);
    const before = (await callsTo(RUNG_BEFORE)).length;
    const callId = newCallId();
    const limits = { ringTimeoutSeconds: 30, maxDurationSeconds: 600 };
    await createCallRequests(database).insert(
      callRequest({ _id: callId, ...of, toPhoneNumber: RUNG_BEFORE, agentId: agent._id }),
    );
    const input = { callId, ...of, ...limits, direction: 'outbound' as const, agentId: agent._id };
    const start = { ...input, answerWithinMs: 10_000, notify: false };
    expect(await stack.service.gateway.start(start, Date.now() + 15_000)).toEqual({ outcome: 'granted' });
    expect(await stack.waitForEnd(callId)).toMatchObject({ status: 'FAILED', endReason: 'rejected', costMicros: 0 });
    expect((await callsTo(RUNG_BEFORE)).length).toBe(before);
    expect(await gate.countAttempt({ ...attempt, callId: newCallId() })).toBe(false);
  });

  it('is counted once for a repeated request, and not for a rejected one', async () => {
    const { service } = stack;
    const customer = await service.customer();
    const place = () => service.place(customer.liveKey, order(NEVER_ANSWERS), { 'Idempotency-Key': 'once' });
    expect(statusesOf([await place(), await place()])).toEqual([200, 200]);
    await waitForAttempts(1);
    const poor = await service.customer(0);
    expectError(await service.place(poor.liveKey, order(NEVER_ANSWERS)), 402, 'INSUFFICIENT_BALANCE');
    expect(await attempts()).toBe(1);
  });

  it('has the limit that an operator sets for an account', async () => {
    const { service } = stack;
    const customer = await service.customer();
    await service.accounts.setLimits(customer.account._id, { unansweredAttemptsPerHour: 1 });
    expect((await service.place(customer.liveKey, order(NEVER_ANSWERS))).status).toBe(200);
    await waitForAttempts(1);
    expectError(await service.place(customer.liveKey, order(NEVER_ANSWERS)), 403, 'SPEND_LIMIT_EXCEEDED');
    await service.accounts.setLimits(customer.account._id, { unansweredAttemptsPerHour: 'none' });
    expect((await service.place(customer.liveKey, order(NEVER_ANSWERS))).status).toBe(200);
  });
});

describe('a number that answers', () => {
  it('may be called again: an answered call no longer counts as an attempt, even during the call', async () => {
    const customer = await stack.service.customer();
    await stack.service.accounts.setLimits(customer.account._id, { unansweredAttemptsPerHour: 1 });
    const { scripted } = await stack.placeCall(customer, SILENT);
    await eventually(async () => (await attempts()) === 0);
    scripted.sink.end('agent_hangup');
    await stack.waitForEnd(await place(customer, HANGS_UP, 'first'));
    await stack.waitForEnd(await place(customer, HANGS_UP, 'second'));
    expect(await attempts()).toBe(0);
  });
});

describe('a transfer', () => {
  /** Starts a call and transfers it; ends the call if the transfer is rejected. */
  async function startTransfer(customer: Customer, to: string) {
    const { callId, transfer, scripted } = await stack.placeCall(customer, SILENT, { transferNumbers: [to] });
    const answer = await transfer(to);
    if (!answer.ok) scripted.sink.end('agent_hangup');
    return { callId, answer };
  }

  it('counts as an attempt without an answer, for calls and further transfers', async () => {
    const { service } = stack;
    const customer = await service.customer();
    await service.accounts.setLimits(customer.account._id, { unansweredAttemptsPerHour: 1 });
    const { callId, answer } = await startTransfer(customer, '+12025550101');
    expect(answer).toMatchObject({ ok: true });
    await stack.waitForEnd(callId);
    expect(await attempts()).toBe(1);
    expectError(await service.place(customer.liveKey, order('+12025550101')), 403, 'SPEND_LIMIT_EXCEEDED');
    const again = await startTransfer(customer, '+12025550101');
    expect(again.answer).toEqual({ ok: false, error: 'this number was called too often; try again later' });
    expect((await stack.carrierCall(again.callId)).dials).toEqual([]);
  });

  it('does not count as an attempt once it is answered', async () => {
    const { service } = stack;
    const customer = await service.customer();
    await service.accounts.setLimits(customer.account._id, { unansweredAttemptsPerHour: 1 });
    for (let n = 0; n < 2; n++) {
      const { callId, answer } = await startTransfer(customer, HANGS_UP);
      expect(answer).toMatchObject({ ok: true });
      await stack.waitForEnd(callId);
    }
    expect(await attempts()).toBe(0);
  });

  it('counts towards destination caps like a call, but not if the call is ending', async () => {
    const { service } = stack;
    const customer = await service.customer();
    const destinationCaps = [{ prefix: '+12025550143', callsPerHour: 1 }];
    await service.accounts.setLimits(customer.account._id, { destinationCaps });
    const transferNumbers = ['+12025550143'];
    const ending = await stack.placeCall(customer, SILENT, { transferNumbers });
    ending.scripted.sink.end('agent_hangup');
    expect(await ending.transfer('+12025550143')).toMatchObject({ ok: false });
    expect((await startTransfer(customer, '+12025550143')).answer).toMatchObject({ ok: true });
    expect((await startTransfer(customer, '+12025550143')).answer).toMatchObject({ ok: false });
    expectError(await service.place(customer.liveKey, order('+12025550143')), 403, 'SPEND_LIMIT_EXCEEDED');
  });

  it('is not removed from the count by a forged or foreign transfer status', async () => {
    const { service } = stack;
    const customer = await service.customer();
    const { callId } = await startTransfer(customer, NEVER_ANSWERS);
    const { sid } = await eventually(async () => {
      const call = await stack.carrierCall(callId);
      return call.dials.length === 1 && call;
    });
    const path = `/carrier/calls/${callId}/transfer-status`;
    const statusForm = { CallSid: newSid('CA'), ParentCallSid: sid, CallStatus: 'in-progress' };
    const unsigned = { method: 'POST', body: new URLSearchParams(statusForm) };
    expectError(await service.request(path, unsigned), 403, 'FORBIDDEN');
    const ignored: [Record<string, string>, Mode?, string?][] = [
      [{ CallSid: sid, CallStatus: 'in-progress' }],
      [{ ...statusForm, ParentCallSid: newSid('CA') }],
      [{ ...statusForm, ParentCallSid: sid.toUpperCase() }],
      [{ ...statusForm, ParentCallSid: `${sid}/..` }],
      [{ ...statusForm, CallStatus: 'ringing' }],
      [{ ...statusForm, CallStatus: 'no-answer' }],
      [statusForm, 'test'],
      [statusForm, 'live', `/carrier/calls/${newCallId()}/transfer-status`],
    ];
    for (const [form, mode = 'live', to = path] of ignored) {
      expect((await service.carrierPost(to, form, mode)).status).toBe(200);
    }
    expect(await attempts()).toBe(1);
    for (let n = 0; n < 2; n++) {
      expect((await service.carrierPost(path, statusForm)).status).toBe(200);
      expect(await attempts()).toBe(0);
    }
  });

  it('to one number is accepted six times at once when it is answered', async () => {
    const customer = await stack.service.customer();
    for (let n = 0; n < 6; n++) {
      const { callId, answer } = await startTransfer(customer, KEEPS_TALKING);
      expect(answer).toMatchObject({ ok: true });
      const isConnected = async () => (await stack.carrierCall(callId)).dials[0]?.status === 'completed';
      await eventually(isConnected);
      // The status callback must remove the attempt from the count. Otherwise the sixth transfer would be rejected.
      for (let look = 0; look < 50 && (await attempts()) > 0; look++) await wait(100);
    }
    const talking = (await stack.carrierCalls()).filter(
      ({ status, dials }) => status === 'in-progress' && dials[0]?.to === KEEPS_TALKING,
    );
    expect(talking).toHaveLength(6);
  }, 120_000);
});
