import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startService, type Service } from '../support/http/harness.js';
import { startBaseline } from './baseline.js';
import { percentile, report } from './figures.js';

const ROUNDS = 60;
const WARM_UP = 10;

let carrier: Server;
let service: Service;
let baseline: Awaited<ReturnType<typeof startBaseline>>;

beforeAll(async () => {
  // The carrier rejects every call at once. So each call is over before the next one begins, and the benchmark measures
  // the latency of a single client.
  carrier = createServer((_request, response) => {
    response.writeHead(400, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ code: 21211, message: 'Invalid', status: 400 }));
  });
  await new Promise<void>((resolve) => carrier.listen(0, '127.0.0.1', resolve));
  const { port } = carrier.address() as AddressInfo;
  service = await startService({ env: { SIMULATOR_URL: `http://127.0.0.1:${port}` } });
  baseline = await startBaseline({ address: service.config.temporal.address, database: service.database });
}, 180_000);

afterAll(async () => {
  await baseline.stop();
  await service.close();
  await new Promise((resolve) => carrier.close(resolve));
});

it('POST /outbound_call takes at most 1.5 times (p50) a bare update-with-start with the same writes', async () => {
  const customer = await service.customer();
  await service.accounts.setLimits(customer.account._id, { requestsPerMinute: 100_000, concurrentCalls: 1_000 });
  const place = async () => {
    const answer = await service.place(customer.liveKey, {
      to_phone_number: '+12025550100',
      agent_id: customer.agent._id,
    });
    expect(answer.status).toBe(200);
    return String(answer.json.call_id);
  };
  const ours: number[] = [];
  const bare: number[] = [];
  for (let round = 0; round < WARM_UP + ROUNDS; round++) {
    const beforeBare = performance.now();
    await baseline.start();
    const beforeOurs = performance.now();
    const callId = await place();
    const after = performance.now();
    if (round >= WARM_UP) {
      bare.push(beforeOurs - beforeBare);
      ours.push(after - beforeOurs);
    }
    await ended(callId);
  }
  const ratio = percentile(ours, 50) / percentile(bare, 50);
  report('POST /outbound_call, one caller', {
    'bare update-with-start p50 ms': percentile(bare, 50),
    'POST p50 ms': percentile(ours, 50),
    'bare p95 ms': percentile(bare, 95),
    'POST p95 ms': percentile(ours, 95),
    'ratio of p50 (limit 1.5)': ratio,
  });
  expect(ratio).toBeLessThanOrEqual(1.5);
}, 120_000);

async function ended(callId: string): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    const call = await service.database.calls.findById(callId, { status: 1 }).lean();
    if (call?.status === 'FAILED') return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error('the call did not end');
}
