import { createLedger } from '../../../src/billing/ledger/ledger.js';
import { ledgerAccountId } from '../../../src/kernel/ids.js';
import { observe } from '../../../src/platform/telemetry/measurements.js';
import { expectError, startService, type Customer, type Service } from '../../support/http/harness.js';

const TO = '+12025550100';
const log: string[] = [];
const decisions: string[] = [];
const failures: object[] = [];
let service: Service;
let customer: Customer;

beforeAll(async () => {
  service = await startService({ env: { LOG_LEVEL: 'warn' }, onLog: (line) => void log.push(line) });
  customer = await service.customer();
}, 60_000);
const forget = [
  observe('placingDecision', ({ mode, outcome }) => void decisions.push(`${mode} ${outcome}`)),
  observe('httpRequest', ({ route, status, cause }) => {
    if (status >= 500) failures.push({ route, status, cause });
  }),
];
beforeEach(() => {
  for (const list of [log, decisions, failures]) list.length = 0;
});
afterAll(async () => {
  for (const each of forget) each();
  await service.close();
});

const post = (path: string, { liveKey }: Customer, body: object) =>
  service.request(path, {
    method: 'POST',
    key: liveKey,
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });

describe('the metric of decisions about new calls', () => {
  it('counts the calls of every route that places calls', async () => {
    const { agent, liveKey, testKey } = customer;
    const order = { to_phone_number: TO, agent_id: agent._id };
    const query = new URLSearchParams(order).toString();
    expect((await service.place(liveKey, order)).status).toBe(200);
    expect((await service.request(`/outbound_call?${query}`, { key: liveKey })).status).toBe(200);
    expect((await post('/calls', customer, order)).status).toBe(200);
    expect((await post('/web_calls', customer, { agent_id: agent._id })).status).toBe(200);
    expect((await service.place(testKey, order)).status).toBe(200);
    expect(decisions).toEqual([...Array.from({ length: 4 }, () => 'live accepted'), 'test accepted']);
  });

  it('counts no status that is read, and repeated and rejected requests apart', async () => {
    const { agent, liveKey } = customer;
    const order = { to_phone_number: TO, agent_id: agent._id };
    const place = (body: object = order) => service.place(liveKey, body, { 'idempotency-key': 'once' });
    const { call_id: callId } = (await place()).json;
    expect((await service.place(liveKey, { call_id: callId })).status).toBe(200);
    expect((await service.request(`/outbound_call?call_id=${String(callId)}`, { key: liveKey })).status).toBe(200);
    expectError(await service.place(liveKey, {}), 400, 'MISSING_PARAMS');
    expect(decisions).toEqual(['live accepted']);
    expect((await place()).headers.get('idempotent-replayed')).toBe('true');
    expectError(await place({ ...order, to_phone_number: '+12025550101' }), 409, 'IDEMPOTENCY_CONFLICT');
    const poor = await service.customer(0);
    const refused = { to_phone_number: TO, agent_id: poor.agent._id };
    expectError(await service.place(poor.liveKey, refused), 402, 'INSUFFICIENT_BALANCE');
    expectError(await post('/web_calls', poor, { agent_id: poor.agent._id }), 402, 'INSUFFICIENT_BALANCE');
    expect(decisions.slice(1)).toEqual(['live repeated', 'live rejected', 'live rejected', 'live rejected']);
  });

  it('does not count requests of a frozen account as failures, nor are they logged as such', async () => {
    const owner = await service.customer();
    await createLedger(service.database).freeze(ledgerAccountId(owner.account._id, 'live'), 'a test');
    const order = { to_phone_number: TO, agent_id: owner.agent._id };
    const responses = [
      await service.place(owner.liveKey, order),
      await service.place(owner.liveKey, order, { 'idempotency-key': 'frozen' }),
      await post('/calls', owner, order),
      await post('/web_calls', owner, { agent_id: owner.agent._id }),
    ];
    for (const response of responses) {
      expectError(response, 503, 'SERVICE_UNAVAILABLE', /^The account is frozen and cannot start new calls\. Contact/);
      expect(response.headers.get('retry-after')).toBe('1');
    }
    expect(decisions).toEqual(responses.map(() => 'live frozen'));
    expect(failures).toEqual(
      ['/outbound_call', '/outbound_call', '/calls', '/web_calls'].map((route) => ({
        route,
        status: 503,
        cause: 'frozen',
      })),
    );
    expect(log.join('')).not.toContain('service unavailable');
  });
});

it('a call that no worker decides in time failed because of the service', async () => {
  const idle = await startService({ worker: false, minDeadlineMs: 0 });
  try {
    const { agent, liveKey } = await idle.customer();
    const answer = await idle.place(liveKey, { to_phone_number: TO, agent_id: agent._id });
    expectError(answer, 503, 'SERVICE_UNAVAILABLE');
    expect(decisions).toEqual(['live failed']);
    expect(failures).toEqual([{ route: '/outbound_call', status: 503, cause: undefined }]);
  } finally {
    await idle.close();
  }
}, 60_000);
