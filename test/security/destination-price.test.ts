import { createCarrierBindings } from '../../src/telephony/carrier-bindings.js';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { createActivities } from '../../activities/create-activities.js';
import type { CarrierApi, CarrierCall, DialOutcome, DialRequest } from '../../src/telephony/port.js';
import { ledgerAccountId } from '../../src/kernel/ids.js';
import { createLedger, type Ledger } from '../../src/billing/ledger/ledger.js';
import { createLogger } from '../../src/platform/telemetry/logger.js';
import { eventually, expectError, startService, type Customer, type Service } from '../support/http/harness.js';
import { createRateDeckFile } from './support/rate-deck-file.js';

const CHEAP = '+12025550142';
const EXPENSIVE = '+447700900123';
const EXPENSIVE_RATE = 40_000;
const DECK = `prefix,micro_usd_per_second\n1,2500\n44,2500\n4477,${EXPENSIVE_RATE}\ninbound,5000\n`;
/** The longest time that a response takes while other tests use the machine. */
const SLOW_MS = 90_000;

/** A carrier that accepts every call and records the requests. */
class WillingCarrier implements CarrierApi {
  readonly kind = 'simulator';
  readonly capabilities = { canChangeTimeLimit: true };
  readonly dials = new Map<string, DialRequest & { carrierSid: string }>();
  readonly limits = new Map<string, number[]>();

  isCallId(text: string): boolean {
    return /^CA[0-9a-f]{32}$/.test(text);
  }
  async dial(request: DialRequest): Promise<DialOutcome> {
    const carrierSid = `CA${randomBytes(16).toString('hex')}`;
    this.dials.set(request.callId, { ...request, carrierSid });
    return { outcome: 'accepted', carrierSid };
  }
  async hangUp(): Promise<void> {}
  async limitTo(carrierSid: string, seconds: number): Promise<void> {
    this.limits.set(carrierSid, [...(this.limits.get(carrierSid) ?? []), seconds]);
  }
  async fetch(): Promise<CarrierCall | undefined> {
    return undefined;
  }
  async findPlaced(): Promise<CarrierCall[]> {
    return [];
  }
}

const deck = createRateDeckFile(DECK);
const carrier = new WillingCarrier();
const closers: (() => Promise<void>)[] = [];
let service: Service;
let ledger: Ledger;
let stopWorker: () => Promise<void>;

beforeAll(async () => {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  service = await startService({ worker: false, env: { RATE_DECK_FILE: deck.path } });
  ledger = createLedger(service.database);
  stopWorker = await startWorker(service);
  const { liveKey } = await service.customer();
  await eventually(async () => (await place(service, liveKey, CHEAP)).status === 200);
}, SLOW_MS);

afterAll(async () => {
  for (const close of closers) await close();
  await stopWorker();
  await service.close();
  deck.remove();
});

/** Starts another API process with the current rate deck, on the same database and task queue. */
async function startApi(env: Record<string, string> = {}): Promise<Service> {
  const { mongodbUri, temporal } = service.config;
  const another = await startService({
    worker: false,
    env: { MONGODB_URI: mongodbUri, TEMPORAL_TASK_QUEUE: temporal.taskQueues.calls, RATE_DECK_FILE: deck.path, ...env },
  });
  closers.push(async () => {
    await another.close({ databaseIsClosed: true });
    await another.database.close();
  });
  return another;
}

const defaultAccountOf = ({ carriers: { live } }: Service['config']) => ({
  name: live.name,
  id: live.carrierAccountId,
  isDefault: true,
});

async function startWorker({ config, database }: Service): Promise<() => Promise<void>> {
  const connection = await NativeConnection.connect({ address: config.temporal.address });
  const worker = await Worker.create({
    connection,
    taskQueue: config.temporal.taskQueues.calls,
    workflowBundle: { codePath: join(__dirname, '../../dist/workers/workflow-bundle.js') },
    activities: createActivities({
      config,
      database,
      carriers: { live: Object.assign(carrier, { account: defaultAccountOf(config) }), test: carrier },
      logger: createLogger({ role: 'test', level: 'silent' }),
    }),
  });
  const running = worker.run();
  return async () => {
    worker.shutdown();
    await running;
    await connection.close();
  };
}

const place = (on: Service, key: string, to: string) => on.place(key, { to_phone_number: to, instruction: 'Hello.' });

/** Places a call and waits until the carrier has accepted it. */
async function dialed(on: Service, { liveKey }: Customer, to: string) {
  const bindings = createCarrierBindings(service.database);
  const answer = await place(on, liveKey, to);
  expect(answer).toMatchObject({ status: 200 });
  const callId = String(answer.json['call_id']);
  const { carrierSid, timeLimitSeconds } = await eventually(async () => carrier.dials.get(callId));
  let signals = 0;
  const signal = (kind: 'answered' | 'ended', more: object = {}) =>
    service.gateway.signalCarrier(
      callId,
      { carrierSid, kind, at: Date.now(), ...more } as never,
      `${callId}:${signals++}`,
    );
  return {
    callId,
    timeLimitSeconds,
    limits: () => carrier.limits.get(carrierSid) ?? [],
    answer: () => signal('answered'),
    async end(durationSeconds: number) {
      // The carrier asked the API for instructions when the call was answered, which records that it got some.
      await eventually(async () => (await bindings.find(callId)) !== null);
      await bindings.recordInstruction(callId, carrierSid);
      await signal('ended', { status: 'completed', durationSeconds });
      return eventually(async () => {
        const { json } = await on.request(`/calls/${callId}`, { key: liveKey });
        return json['status'] === 'COMPLETED' && json;
      });
    },
  };
}

const balanceOf = ({ account }: Customer) => ledger.balance(ledgerAccountId(account._id, 'live'));

describe('a call to an expensive prefix', () => {
  it(
    'is never billed, held or limited at the default rate',
    async () => {
      const api = await startApi({ HOLD_WINDOWS: '6,300' });
      const customer = await api.customer(10_000_000);
      const call = await dialed(api, customer, EXPENSIVE);
      expect(await balanceOf(customer)).toMatchObject({ heldMicros: 6 * EXPENSIVE_RATE });
      expect(call.timeLimitSeconds).toBe(60);
      await call.answer();
      // At this rate, 10 USD pay for 250 s. At the default rate, they would pay for all 306 s.
      await eventually(async () => call.limits().length > 0);
      expect(call.limits()).toEqual([250]);
      expect(await balanceOf(customer)).toMatchObject({ availableMicros: 0, heldMicros: 250 * EXPENSIVE_RATE });
      expect(await call.end(7)).toMatchObject({
        duration_seconds: 7,
        cost: 0.28,
        cost_micros: 280_000,
        price_per_minute: 2.4,
        cost_windows: [
          { held_seconds: 6, billed_seconds: 6, billed_micros: 240_000 },
          { held_seconds: 244, billed_seconds: 1, billed_micros: 40_000 },
        ],
      });
      expect(await balanceOf(customer)).toMatchObject({ heldMicros: 0, billedMicros: 280_000 });
      const { json: statement } = await api.request('/ledger?limit=1', { key: customer.liveKey });
      expect(statement['data']).toMatchObject([{ type: 'settlement', billed_seconds: 7, billed_micros: 280_000 }]);
      const { json: usage } = await api.request('/usage?group_by=day', { key: customer.liveKey });
      expect(usage['total']).toEqual({ calls: 1, seconds: 7, cost: 0.28, cost_micros: 280_000 });
      expect(await ledger.audit(ledgerAccountId(customer.account._id, 'live'))).toMatchObject({ balanced: true });
    },
    SLOW_MS,
  );

  it('needs the price of a minute at its own rate, not at the default', async () => {
    const poor = await service.customer(60 * EXPENSIVE_RATE - 1);
    expectError(await place(service, poor.liveKey, EXPENSIVE), 402, 'INSUFFICIENT_BALANCE');
    expect(await balanceOf(poor)).toMatchObject({ heldMicros: 0 });
    expect((await place(service, poor.liveKey, CHEAP)).status).toBe(200);
    const rich = await service.customer(60 * EXPENSIVE_RATE);
    expect((await place(service, rich.liveKey, EXPENSIVE)).status).toBe(200);
    expect(await balanceOf(rich)).toMatchObject({ availableMicros: 0, heldMicros: 60 * EXPENSIVE_RATE });
  });

  it('counts towards the spending limit of the day at its own rate', async () => {
    const customer = await service.customer(10_000_000);
    await service.accounts.setLimits(customer.account._id, { dailySpendCapMicros: 60 * EXPENSIVE_RATE - 1 });
    expectError(await place(service, customer.liveKey, EXPENSIVE), 403, 'SPEND_LIMIT_EXCEEDED');
    expect((await place(service, customer.liveKey, CHEAP)).status).toBe(200);
  });
});

describe('an inbound call', () => {
  it('costs the inbound rate of the deck, whatever its numbers are', async () => {
    const customer = await service.customer(10_000_000);
    const form = {
      CallSid: `CA${randomBytes(16).toString('hex')}`,
      From: EXPENSIVE,
      To: EXPENSIVE,
      agent_id: customer.agent._id,
    };
    expect(await service.carrierPost('/inbound_call', form)).toMatchObject({ status: 200 });
    expect(await balanceOf(customer)).toMatchObject({ heldMicros: 60 * 5_000 });
    const { json } = await service.request('/calls', { key: customer.liveKey });
    expect(json['data']).toMatchObject([{ call_direction: 'inbound', price_per_minute: 0.3 }]);
  });
});

describe('a rate deck that changes during a call', () => {
  it(
    'does not change the price of that call, and applies to the next one',
    async () => {
      const before = await startApi({ HOLD_WINDOWS: '12,300' });
      const customer = await before.customer(10_000_000);
      const call = await dialed(before, customer, EXPENSIVE);
      await call.answer();
      deck.write(DECK.replace(String(EXPENSIVE_RATE), '1000'));
      const after = await startApi();
      const stop = await startWorker(after);
      await stopWorker();
      stopWorker = stop;
      await eventually(async () => call.limits().length > 0);
      expect(call.limits()).toEqual([250]);
      expect(await call.end(13)).toMatchObject({ cost_micros: 13 * EXPENSIVE_RATE, price_per_minute: 2.4 });
      expect(await balanceOf(customer)).toMatchObject({ heldMicros: 0, billedMicros: 13 * EXPENSIVE_RATE });
      const next = await dialed(after, customer, EXPENSIVE);
      expect(await balanceOf(customer)).toMatchObject({ heldMicros: 60 * 1_000 });
      await next.answer();
      expect(await next.end(13)).toMatchObject({ cost_micros: 13_000, price_per_minute: 0.06 });
    },
    SLOW_MS,
  );
});
