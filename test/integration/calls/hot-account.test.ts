import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ledgerAccountId } from '../../../src/kernel/ids.js';
import { createLedger } from '../../../src/billing/ledger/ledger.js';
import { startService, type Customer, type Service } from '../../support/http/harness.js';
import { newSid } from '../../support/sids.js';

const REQUESTS = 1_000;
const COVERED = 100;
/** The number of concurrent requests. It is low, because the machine that runs the tests is small. */
const PARALLEL = 8;
const DECIDED_WITHIN_MS = 540_000;

let carrier: Server;
let service: Service;

beforeAll(async () => {
  // The carrier accepts every call and lets it ring, so that no hold is released while other requests are decided.
  carrier = createServer((request, response) => {
    request.resume();
    const known = /CA[0-9a-f]{32}/.exec(request.url ?? '')?.[0];
    response.writeHead(known === undefined ? 201 : 200, { 'content-type': 'application/json' });
    const sid = known ?? newSid('CA');
    response.end(JSON.stringify({ sid, status: 'ringing', date_created: new Date().toUTCString() }));
  });
  await new Promise<void>((resolve) => carrier.listen(0, '127.0.0.1', resolve));
  const { port } = carrier.address() as AddressInfo;
  const env = { SIMULATOR_URL: `http://127.0.0.1:${port}` };
  service = await startService({ env: { ...env, ANSWER_WITHIN_MS: '1200' }, minDeadlineMs: 0 });
}, 120_000);

afterAll(async () => {
  await service.close();
  await new Promise((resolve) => carrier.close(resolve));
});

/**
 * Sends a request until it is decided. A 503 means that nothing was decided and that the same request may be sent
 * again.
 */
async function decide(customer: Customer, idempotencyKey: string, giveUpAt: number) {
  const body = { to_phone_number: '+12025550123', agent_id: customer.agent._id };
  for (let repeats = 0; ; repeats++) {
    const answer = await service.place(customer.liveKey, body, { 'Idempotency-Key': idempotencyKey });
    if (answer.status !== 503 || Date.now() > giveUpAt) return { status: answer.status, repeats, answer };
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

describe('a thousand call requests on a balance for a hundred calls', () => {
  it('end as exactly 100 × 200 and 900 × 402 when each 503 is repeated until it is decided', async () => {
    const customer = await service.customer(COVERED * 60 * 2_500);
    const { _id } = customer.account;
    await service.accounts.setLimits(_id, { requestsPerMinute: 1_000_000, concurrentCalls: 1_000_000 });
    // The calls ring for longer than the test takes on any machine. A call that stops ringing would release its hold,
    // and another request could take the money.
    await service.database.agents.updateOne({ _id: customer.agent._id }, { ringTimeoutSeconds: 900 });
    const requestKeys = Array.from({ length: REQUESTS }, (_, index) => `order-${index}`);
    const decided = new Map<string, number>();
    const placed = new Map<string, unknown>();
    const startedAt = Date.now();
    let repeats = 0;
    await Promise.all(
      Array.from({ length: PARALLEL }, async () => {
        for (let key = requestKeys.pop(); key !== undefined; key = requestKeys.pop()) {
          const decision = await decide(customer, key, startedAt + DECIDED_WITHIN_MS);
          decided.set(key, decision.status);
          repeats += decision.repeats;
          if (decision.status === 200) placed.set(key, decision.answer.json['call_id']);
        }
      }),
    );
    const seconds = (Date.now() - startedAt) / 1_000;
    process.stderr.write(`${REQUESTS} requests decided in ${seconds} s, ${repeats} repeats after a 503\n`);
    const count = (status: number) => [...decided.values()].filter((each) => each === status).length;
    expect({ placed: count(200), rejected: count(402), all: decided.size }).toEqual({
      placed: COVERED,
      rejected: REQUESTS - COVERED,
      all: REQUESTS,
    });
    expect(new Set(placed.values()).size).toBe(COVERED);
    const ledger = createLedger(service.database);
    const id = ledgerAccountId(_id, 'live');
    expect(await ledger.balance(id)).toMatchObject({ availableMicros: 0, heldMicros: COVERED * 60 * 2_500 });
    expect(await ledger.audit(id)).toMatchObject({ balanced: true });
    // A repeated request gets the same response.
    for (const [key, callId] of [...placed].slice(0, 5)) {
      const { answer } = await decide(customer, key, 0);
      expect([answer.status, answer.json['call_id']]).toEqual([200, callId]);
      expect(answer.headers.get('idempotent-replayed')).toBe('true');
    }
    const leases = await service.database.leases.findById(`${_id}~live`).lean();
    expect(leases?.count).toBe(COVERED);
  }, 600_000);
});
