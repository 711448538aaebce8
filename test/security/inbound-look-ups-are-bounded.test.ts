import { CARRIERS } from '../../src/telephony/carrier-list.js';
import type { CarrierFactory } from '../../src/telephony/port.js';
import {
  eventually,
  expectError,
  startService,
  type ServiceResponse,
  type Customer,
  type Service,
} from '../support/http/harness.js';
import { newSid } from '../support/sids.js';
import { REAL_CARRIER } from './support/real-carrier';

const PER_ACCOUNT = 4;
const WAITING_PER_ACCOUNT = 40;
const PER_PROCESS = 16;
const OWN = '+12025550181';

/** A carrier that knows no call. While it is held, it does not respond. */
const carrier = {
  isHeld: false,
  held: [] as (() => void)[],
  /** The calls that were looked up, in order. */
  lookedUp: [] as string[],
};

function release(): void {
  carrier.isHeld = false;
  for (const respond of carrier.held.splice(0)) respond();
}

const createCarrier: CarrierFactory = (deps) => ({
  ...CARRIERS['twilio']!(deps),
  async fetch(carrierSid) {
    carrier.lookedUp.push(carrierSid);
    if (carrier.isHeld) await new Promise<void>((respond) => carrier.held.push(respond));
    return undefined;
  },
});

let service: Service;
beforeAll(async () => {
  const carriers = { ...CARRIERS, twilio: createCarrier };
  service = await startService({ worker: false, env: REAL_CARRIER, carriers, minDeadlineMs: 40_000 });
}, 120_000);
afterAll(() => service.close());
beforeEach(() => {
  carrier.lookedUp = [];
});
afterEach(release);

type Forwarder = Customer & { number: string };
let numbers = 300;

/** A customer with a number that belongs to its account. */
async function newForwarder(balanceMicros?: number): Promise<Forwarder> {
  const customer = await service.customer(balanceMicros);
  const number = `+12025550${(numbers += 1)}`;
  await service.phoneNumbers.add({ number, accountId: customer.account._id });
  return { ...customer, number };
}

function forward(of: Forwarder, carrierSid = newSid('CA'), to = of.number): Promise<ServiceResponse> {
  const form = { CallSid: carrierSid, From: '+12025550100', To: to, agent_id: of.agent._id };
  return service.request('/inbound_call', { method: 'POST', key: of.liveKey, body: new URLSearchParams(form) });
}

const flood = (of: Forwarder, count: number) => Array.from({ length: count }, () => forward(of));

/** Waits until so many look-ups have reached the carrier, and then for some time more. */
async function settled(count: number): Promise<void> {
  await eventually(async () => carrier.lookedUp.length >= count);
  await new Promise((resolve) => setTimeout(resolve, 500));
}

describe('forged inbound calls that the service looks up at the carrier', () => {
  it('are looked up a few at a time for each account, and delay no look-up of another account', async () => {
    const [flooding, other] = [await newForwarder(), await newForwarder()];
    carrier.isHeld = true;
    const tooMany = 12;
    const answers = flood(flooding, PER_ACCOUNT + WAITING_PER_ACCOUNT + tooMany);
    let answered = 0;
    for (const answer of answers) void answer.then(() => (answered += 1));
    await eventually(async () => answered === tooMany, 15_000);
    expect(carrier.lookedUp).toHaveLength(PER_ACCOUNT);
    const carrierSid = newSid('CA');
    const theirs = forward(other, carrierSid);
    await eventually(async () => carrier.lookedUp.includes(carrierSid), 15_000);
    expect(answered).toBe(tooMany);
    release();
    expectError(await theirs, 403, 'FORBIDDEN', /CallSid/);
    const all = await Promise.all(answers);
    expect(all.filter(({ status }) => status === 403)).toHaveLength(PER_ACCOUNT + WAITING_PER_ACCOUNT);
    for (const rejected of all.filter(({ status }) => status !== 403)) {
      expectError(rejected, 429, 'RATE_LIMIT_EXCEEDED', /being checked at the carrier/);
    }
  }, 120_000);

  it('are looked up a few at a time in a process, however many accounts forward them', async () => {
    const forwarders = await Promise.all(Array.from({ length: 6 }, () => newForwarder()));
    carrier.isHeld = true;
    const answers = forwarders.flatMap((forwarder) => flood(forwarder, PER_ACCOUNT));
    await settled(PER_PROCESS);
    expect(carrier.lookedUp).toHaveLength(PER_PROCESS);
    release();
    for (const { status } of await Promise.all(answers)) expect(status).toBe(403);
    expect(carrier.lookedUp).toHaveLength(answers.length);
  }, 120_000);

  it('cost one look-up if they are repeated within seconds', async () => {
    const forwarder = await newForwarder();
    const carrierSid = newSid('CA');
    carrier.isHeld = true;
    const repeats = Array.from({ length: 10 }, () => forward(forwarder, carrierSid));
    await settled(1);
    release();
    for (const repeat of await Promise.all(repeats)) expectError(repeat, 403, 'FORBIDDEN', /CallSid/);
    expectError(await forward(forwarder, carrierSid), 403, 'FORBIDDEN', /CallSid/);
    expect(carrier.lookedUp).toEqual([carrierSid]);
  }, 120_000);

  it('are not looked up if they are rejected anyway', async () => {
    const forwarder = await newForwarder();
    expectError(await forward(forwarder, newSid('CA'), OWN), 403, 'FORBIDDEN', /CallSid/);
    const { number } = await newForwarder();
    expectError(await forward(forwarder, newSid('CA'), number), 403, 'FORBIDDEN', /CallSid/);
    expectError(await forward(await newForwarder(0)), 402, 'INSUFFICIENT_BALANCE');
    expect(carrier.lookedUp).toEqual([]);
  });
});
