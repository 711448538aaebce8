import { createCursors } from '../../src/platform/http/cursor.js';
import { startService, type Customer, type Service } from '../support/http/harness.js';
import { newCallId } from '../support/store/test-database.js';
import { percentile, report } from './figures.js';

const CALLS = 100_000;
const AT_ONCE = 2_000;
const PAGE = 50;
const ROUNDS = 11;
/** The maximum time of a page deep in the list, as a multiple of the first page's time. */
const MOST = 1.2;

let service: Service;
let customer: Customer;
const begin = Date.parse('2026-01-01T00:00:00Z');

beforeAll(async () => {
  service = await startService({ worker: false });
  customer = await service.customer(0);
  await service.accounts.setLimits(customer.account._id, { requestsPerMinute: 100_000 });
  const accountId = customer.account._id;
  for (let made = 0; made < CALLS; made += AT_ONCE) {
    const documents = Array.from({ length: AT_ONCE }, (_, index) => ({
      _id: newCallId() as never,
      sequence: 3,
      accountId,
      mode: 'live',
      direction: 'outbound',
      status: 'COMPLETED',
      endReason: 'callee_hangup',
      fromPhoneNumber: '+12025550199',
      toPhoneNumber: '+12025550100',
      agentId: customer.agent._id,
      agentName: 'Reminders',
      inputParameters: '{}',
      externalCallId: `order-${made + index}`,
      createdAt: new Date(begin + (made + index) * 1_000),
      updatedAt: new Date(begin + (made + index) * 1_000 + 60_000),
      durationSeconds: 47,
      costMicros: 117_500,
      summary: 'They talked for a while about an appointment, and agreed on it.',
    }));
    await service.database.calls.collection.insertMany(documents);
  }
}, 900_000);
afterAll(() => service.close());

it(`pages through ${CALLS} calls as fast at any depth as at the beginning`, async () => {
  // Sends some requests before the measurement, because the first scans of a new server are slow.
  for (let tries = 0; tries < 10; tries++) await service.request('/calls?limit=1', { key: customer.liveKey });
  const narrowed = await cursorsOf(service, customer);
  const depths = { 'first page': 0, '10 %': 0.1, '50 %': 0.5, '99 %': 0.99 };
  const times: Record<string, number[]> = {};
  // Alternates between first and deep pages, so that other load on the machine affects both.
  for (let round = 0; round < ROUNDS + 1; round++) {
    for (const [name, depth] of Object.entries(depths)) {
      const cursor = depth === 0 ? '' : `&cursor=${narrowed(begin + (1 - depth) * CALLS * 1_000)}`;
      const startedAt = performance.now();
      const { status, json } = await service.request(`/calls?limit=${PAGE}${cursor}`, { key: customer.liveKey });
      const took = performance.now() - startedAt;
      expect(status).toBe(200);
      expect((json['data'] as unknown[]).length).toBe(PAGE);
      if (round > 0) (times[name] ??= []).push(took);
    }
  }
  const median = Object.fromEntries(Object.entries(times).map(([name, all]) => [name, percentile(all, 50)]));
  const first = median['first page'] ?? Number.NaN;
  report(`a page of ${PAGE} of ${CALLS} calls, ms, median of ${ROUNDS}`, median);
  for (const name of Object.keys(depths)) expect((median[name] ?? Number.NaN) / first).toBeLessThanOrEqual(MOST);
}, 600_000);

/** Returns a function that builds the list's cursor for any time, as the service would issue it. */
async function cursorsOf({ config, request }: Service, { account, liveKey }: Customer) {
  const cursors = createCursors(config.apiKeyPepper);
  const { json } = await request('/calls?limit=1', { key: liveKey });
  const given = Buffer.from(String(json['next_cursor']), 'base64url').subarray(16).toString('utf8');
  const [at, id = ''] = given.split(' ');
  const { createHash } = await import('node:crypto');
  const list = `calls ${account._id} live ${createHash('sha256').update('{}').digest('base64url')}`;
  // A cursor depends on the name of its list. This fails if the service uses another name for the list than this file.
  expect(cursors.write(list, { at: new Date(Number(at)), id })).toBe(json['next_cursor']);
  return (time: number) => cursors.write(list, { at: new Date(time), id });
}
