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

/** Called by one test only. */
const RUNG_BEFORE = '+12025550152';
/** By the simulated carrier's scripts: never answers; answers and hangs up at once; answers and stays silent; answers and talks on. */
const NEVER_ANSWERS = '+12025550102';
const HANGS_UP = '+12025550106';
const SILENT = '+12025550107';
const TALKS_ON = '+12025550108';

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

/** On a busy machine an answer may be 503; the key makes it the same call when it is asked for again. */
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

/** Counted when the carrier is asked, which is soon after the answer to the request. */
const countedAttempts = (count: number) => eventually(async () => (await attempts()) === count);

async function carriedTo(number: string) {
  return (await stack.carried()).filter(({ to }) => to === number);
}

describe('a number that does not answer', () => {
  it('is rung five times in an hour by all accounts together', async () => {
    const { service } = stack;
    const customers = [await service.customer(), await service.customer()];
    const placed: string[] = [];
    for (let n = 0; n < 5; n++) placed.push(await place(customers[n % 2]!, NEVER_ANSWERS, `attempt ${n}`));
    await countedAttempts(5);
    const refused = await service.place(customers[0]!.liveKey, order(NEVER_ANSWERS));
    expectError(refused, 403, 'SPEND_LIMIT_EXCEEDED', /without an answer/);
    expect((await service.place(customers[0]!.liveKey, order('+12025550142'))).status).toBe(200);
    expect((await service.place(customers[0]!.testKey, order(NEVER_ANSWERS))).status).toBe(200);
    // Neither in the ids nor elsewhere.
    expect(JSON.stringify(await service.database.unansweredAttempts.find().lean())).not.toContain('2025550102');
    for (const callId of placed) expect(await stack.ended(callId)).toMatchObject({ endReason: 'no_answer' });
    expectError(await service.place(customers[1]!.liveKey, order(NEVER_ANSWERS)), 403, 'SPEND_LIMIT_EXCEEDED');
  }, 120_000);

  it('is the same number with digits behind it, which networks ignore', async () => {
    const { service } = stack;
    const customer = await service.customer();
    for (let n = 0; n < 5; n++) await place(customer, NEVER_ANSWERS, `spelled ${n}`);
    await countedAttempts(5);
    for (const more of ['0', '17', '1234']) {
      const refused = await service.place(customer.liveKey, order(`${NEVER_ANSWERS}${more}`));
      expectError(refused, 403, 'SPEND_LIMIT_EXCEEDED', /without an answer/);
    }
    expect(await attempts()).toBe(5);
  });

  it('gets a spelling with surplus digits out of its count as it got in', async () => {
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
    await gate.transferAnswered(transfer.callId, transfer.to);
    expect(await attempts()).toBe(0);
  });

  it('is counted exactly, however many ask at once', async () => {
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

  it('tells no account of the attempts of another', async () => {
    const { service } = stack;
    const [one, other] = [await service.customer(), await service.customer()];
    for (let n = 0; n < 5; n++) await place(one, NEVER_ANSWERS, `own ${n}`);
    await countedAttempts(5);
    const refused = await service.place(other.liveKey, order(NEVER_ANSWERS));
    expectError(refused, 403, 'SPEND_LIMIT_EXCEEDED', /^This number gets no more attempts without an answer/);
    expect(refused.json).not.toHaveProperty('limit');
  });

  it('is not used up by requests that have reserved no money yet, nor by those that end with 503', async () => {
    const { service } = stack;
    const { mongodbUri, temporal } = service.config;
    // No worker serves this task queue, so that no call of it begins.
    const idle = await startService({
      leastTimeMs: 0,
      worker: false,
      env: { ...REAL_CARRIER, MONGODB_URI: mongodbUri, TEMPORAL_TASK_QUEUE: `${temporal.taskQueue}-idle` },
    });
    try {
      const { account, liveKey } = await service.customer();
      const asked = Promise.all(Array.from({ length: 5 }, () => idle.place(liveKey, order(NEVER_ANSWERS))));
      await eventually(
        async () => (await service.database.callRequests.countDocuments({ accountId: account._id })) === 5,
      );
      await place(await service.customer(), NEVER_ANSWERS, 'meanwhile');
      expect(statusesOf(await asked)).toEqual([503, 503, 503, 503, 503]);
      await place(await service.customer(), NEVER_ANSWERS, 'after the 503s');
    } finally {
      await idle.close({ databaseIsClosed: true });
      await idle.database.close();
    }
  }, 60_000);

  it('is not rung beyond the limit by requests that pass at once: the rest end as rejected and cost nothing', async () => {
    const { service } = stack;
    const customers = await Promise.all(Array.from({ length: 3 }, () => service.customer()));
    const before = (await carriedTo(NEVER_ANSWERS)).length;
    const keys = customers.flatMap(({ liveKey }) => Array.from({ length: 4 }, () => liveKey));
    const answers = await Promise.all(keys.map((key) => service.place(key, order(NEVER_ANSWERS))));
    const ids = answers.flatMap(({ status, json }) => (status === 200 ? [String(json['call_id'])] : []));
    const ended = await Promise.all(ids.map((id) => stack.ended(id)));
    expect((await carriedTo(NEVER_ANSWERS)).length - before).toBeLessThanOrEqual(5);
    for (const call of ended) expect(call).toMatchObject({ status: 'FAILED', costMicros: 0 });
    expect(await attempts()).toBeLessThanOrEqual(5);
  }, 120_000);

  it('that has had its attempts by the time of the dial is not dialed', async () => {
    const { config, database, customer } = stack.service;
    const gate = createCallGate({ config, database });
    const { account, agent } = await customer();
    const of = { accountId: account._id, mode: 'live' as const };
    const attempt = { ...of, callId: newCallId(), leg: 'call' as const, to: RUNG_BEFORE };
    for (let n = 0; n < 5; n++) {
      const counted = n === 0 ? attempt : { ...attempt, callId: newCallId() };
      expect(await gate.countAttempt(counted)).toBe(true);
    }
    // Another try to dial the same call is the same attempt.
    expect(await gate.countAttempt(attempt)).toBe(true);
    const before = (await carriedTo(RUNG_BEFORE)).length;
    const callId = newCallId();
    const limits = { ringTimeoutSeconds: 30, maxDurationSeconds: 600 };
    await createCallRequests(database).insert({
      _id: callId,
      ...of,
      ...limits,
      direction: 'outbound',
      fromPhoneNumber: '+12025550199',
      toPhoneNumber: RUNG_BEFORE,
      agent: { agentId: agent._id, instruction: 'Hello.', voice: 'amber', language: 'en-US' },
      inputParameters: '{}',
      externalCallId: '',
      createdAt: new Date(),
    });
    const input = { callId, ...of, ...limits, direction: 'outbound' as const, agentId: agent._id };
    const start = { ...input, answerWithinMs: 10_000, notify: false };
    expect(await stack.service.gateway.start(start, Date.now() + 15_000)).toEqual({ outcome: 'granted' });
    expect(await stack.ended(callId)).toMatchObject({ status: 'FAILED', endReason: 'rejected', costMicros: 0 });
    expect((await carriedTo(RUNG_BEFORE)).length).toBe(before);
    expect(await gate.countAttempt({ ...attempt, callId: newCallId() })).toBe(false);
  });

  it('counts once for a request that is repeated, and not for one that is refused', async () => {
    const { service } = stack;
    const customer = await service.customer();
    const place = () => service.place(customer.liveKey, order(NEVER_ANSWERS), { 'Idempotency-Key': 'once' });
    expect(statusesOf([await place(), await place()])).toEqual([200, 200]);
    await countedAttempts(1);
    const poor = await service.customer(0);
    expectError(await service.place(poor.liveKey, order(NEVER_ANSWERS)), 402, 'INSUFFICIENT_BALANCE');
    expect(await attempts()).toBe(1);
  });

  it('is counted as an operator says for an account', async () => {
    const { service } = stack;
    const customer = await service.customer();
    await service.accounts.setLimits(customer.account._id, { unansweredAttemptsPerHour: 1 });
    expect((await service.place(customer.liveKey, order(NEVER_ANSWERS))).status).toBe(200);
    await countedAttempts(1);
    expectError(await service.place(customer.liveKey, order(NEVER_ANSWERS)), 403, 'SPEND_LIMIT_EXCEEDED');
    await service.accounts.setLimits(customer.account._id, { unansweredAttemptsPerHour: 'none' });
    expect((await service.place(customer.liveKey, order(NEVER_ANSWERS))).status).toBe(200);
  });
});

describe('a number that answers', () => {
  it('may be called on: an answered call is no attempt any more, while it is talked', async () => {
    const customer = await stack.service.customer();
    await stack.service.accounts.setLimits(customer.account._id, { unansweredAttemptsPerHour: 1 });
    const { scripted } = await stack.talk(customer, SILENT);
    await eventually(async () => (await attempts()) === 0);
    scripted.sink.end('agent_hangup');
    await stack.ended(await place(customer, HANGS_UP, 'first'));
    await stack.ended(await place(customer, HANGS_UP, 'second'));
    expect(await attempts()).toBe(0);
  });
});

describe('a transfer', () => {
  /** A call that its agent transfers; a number that is not put through ends it as well. */
  async function transferred(customer: Customer, to: string) {
    const { callId, transfer, scripted } = await stack.talk(customer, SILENT, { transferNumbers: [to] });
    const answer = await transfer(to);
    if (!answer.ok) scripted.sink.end('agent_hangup');
    return { callId, answer };
  }

  it('that nobody answers counts as an attempt, for calls and further transfers', async () => {
    const { service } = stack;
    const customer = await service.customer();
    await service.accounts.setLimits(customer.account._id, { unansweredAttemptsPerHour: 1 });
    const { callId, answer } = await transferred(customer, '+12025550101');
    expect(answer).toMatchObject({ ok: true });
    await stack.ended(callId);
    expect(await attempts()).toBe(1);
    expectError(await service.place(customer.liveKey, order('+12025550101')), 403, 'SPEND_LIMIT_EXCEEDED');
    const again = await transferred(customer, '+12025550101');
    expect(again.answer).toEqual({ ok: false, error: 'this number was called too often; not now' });
    expect((await stack.carrierCall(again.callId)).dials).toEqual([]);
  });

  it('that is answered counts as none', async () => {
    const { service } = stack;
    const customer = await service.customer();
    await service.accounts.setLimits(customer.account._id, { unansweredAttemptsPerHour: 1 });
    for (let n = 0; n < 2; n++) {
      const { callId, answer } = await transferred(customer, HANGS_UP);
      expect(answer).toMatchObject({ ok: true });
      await stack.ended(callId);
    }
    expect(await attempts()).toBe(0);
  });

  it('counts against the caps of its destination as a call does, and not when the call is ending', async () => {
    const { service } = stack;
    const customer = await service.customer();
    const destinationCaps = [{ prefix: '+12025550143', callsPerHour: 1 }];
    await service.accounts.setLimits(customer.account._id, { destinationCaps });
    const transferNumbers = ['+12025550143'];
    const ending = await stack.talk(customer, SILENT, { transferNumbers });
    ending.scripted.sink.end('agent_hangup');
    expect(await ending.transfer('+12025550143')).toMatchObject({ ok: false });
    expect((await transferred(customer, '+12025550143')).answer).toMatchObject({ ok: true });
    expect((await transferred(customer, '+12025550143')).answer).toMatchObject({ ok: false });
    expectError(await service.place(customer.liveKey, order('+12025550143')), 403, 'SPEND_LIMIT_EXCEEDED');
  });

  it('a forged or foreign transfer status takes nothing out of the count', async () => {
    const { service } = stack;
    const customer = await service.customer();
    const { callId } = await transferred(customer, NEVER_ANSWERS);
    const { sid } = await eventually(async () => {
      const call = await stack.carrierCall(callId);
      return call.dials.length === 1 && call;
    });
    const path = `/carrier/calls/${callId}/transfer-status`;
    const told = { CallSid: newSid('CA'), ParentCallSid: sid, CallStatus: 'in-progress' };
    const unsigned = { method: 'POST', body: new URLSearchParams(told) };
    expectError(await service.request(path, unsigned), 403, 'FORBIDDEN');
    const ignored: [Record<string, string>, Mode?, string?][] = [
      [{ CallSid: sid, CallStatus: 'in-progress' }],
      [{ ...told, ParentCallSid: newSid('CA') }],
      [{ ...told, ParentCallSid: sid.toUpperCase() }],
      [{ ...told, ParentCallSid: `${sid}/..` }],
      [{ ...told, CallStatus: 'ringing' }],
      [{ ...told, CallStatus: 'no-answer' }],
      [told, 'test'],
      [told, 'live', `/carrier/calls/${newCallId()}/transfer-status`],
    ];
    for (const [form, mode = 'live', to = path] of ignored) {
      expect((await service.carrierPost(to, form, mode)).status).toBe(200);
    }
    expect(await attempts()).toBe(1);
    for (let n = 0; n < 2; n++) {
      expect((await service.carrierPost(path, told)).status).toBe(200);
      expect(await attempts()).toBe(0);
    }
  });

  it('six simultaneous answered transfers to one number are not refused', async () => {
    const customer = await stack.service.customer();
    for (let n = 0; n < 6; n++) {
      const { callId, answer } = await transferred(customer, TALKS_ON);
      expect(answer).toMatchObject({ ok: true });
      const isConnected = async () => (await stack.carrierCall(callId)).dials[0]?.status === 'completed';
      await eventually(isConnected);
      // Until then it is told; without it the sixth is refused.
      for (let look = 0; look < 50 && (await attempts()) > 0; look++) await wait(100);
    }
    const talking = (await stack.carried()).filter(
      ({ status, dials }) => status === 'in-progress' && dials[0]?.to === TALKS_ON,
    );
    expect(talking).toHaveLength(6);
  }, 120_000);
});
