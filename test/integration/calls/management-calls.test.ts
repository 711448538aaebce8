import { createCallResults } from '../../../src/calls/wiring.js';
import { createCarrierEvents } from '../../../src/telephony/carrier-events.js';
import { createLedger } from '../../../src/billing/ledger/ledger.js';
import { createRecordings } from '../../../src/voice/recordings/recordings.js';
import {
  eventually,
  expectError,
  startService,
  type Customer,
  type Service,
  withoutRequestId,
} from '../../support/http/harness.js';
import { listOf, managementOf } from '../../support/http/management-support.js';
import { startReceiver, type Receiver } from '../webhooks/support/receiver.js';
import { sidOf } from '../../support/sids.js';

let service: Service;
let api: ReturnType<typeof managementOf>;
let customer: Customer;
let other: Customer;

beforeAll(async () => {
  service = await startService();
  api = managementOf(service);
  [customer, other] = await Promise.all([service.customer(), service.customer()]);
});
afterAll(() => service.close());

const UNKNOWN = 'call_01JD3Q4Z6WX8Y2V7T5R9S1K0MN';

describe('the list of calls', () => {
  let owner: Customer;
  const callIds: string[] = [];
  beforeAll(async () => {
    owner = await service.customer(0);
    const at = Date.parse('2026-11-01T10:00:00Z');
    for (let count = 0; count < 7; count++) {
      // Every two calls have the same creation time, so that their ids decide their order.
      const createdAt = new Date(at + Math.floor(count / 2) * 1_000);
      callIds.push(await api.endedCall(owner, { createdAt, ...(count === 3 ? { status: 'FAILED' } : {}) }));
    }
    await api.endedCall(owner, { mode: 'test' });
  });

  const pageThrough = async (query: string) => {
    const seen: string[] = [];
    for (let cursor = ''; ;) {
      const page = listOf(await api.get(`/calls?limit=2${query}${cursor}`, owner.liveKey));
      seen.push(...page.data.map((call) => String(call['call_id'])));
      if (page.next_cursor === undefined) return seen;
      cursor = `&cursor=${page.next_cursor}`;
    }
  };

  it('pages through every call of the mode once, newest first, even when new calls arrive', async () => {
    const seen = await pageThrough('');
    expect(seen.toSorted()).toEqual(callIds.toSorted());
    const times = seen.map((id) => Math.floor(callIds.indexOf(id) / 2));
    expect(times).toEqual(times.toSorted((a, b) => b - a));
    const { next_cursor: cursor } = listOf(await api.get('/calls?limit=2', owner.liveKey));
    await api.endedCall(owner);
    const second = listOf(await api.get(`/calls?limit=2&cursor=${String(cursor)}`, owner.liveKey));
    expect(second.data.map((call) => call['call_id'])).toEqual(seen.slice(2, 4));
  });

  it('pages through many calls of the same time', async () => {
    const busy = await service.customer(0);
    const createdAt = new Date('2026-11-03T10:00:00Z');
    const ids = await Promise.all(Array.from({ length: 25 }, () => api.endedCall(busy, { createdAt })));
    const seen: unknown[] = [];
    for (let cursor = ''; ;) {
      const page = listOf(await api.get(`/calls?limit=2${cursor}`, busy.liveKey));
      seen.push(...page.data.map((call) => call['call_id']));
      if (page.next_cursor === undefined) break;
      cursor = `&cursor=${page.next_cursor}`;
    }
    expect(seen).toEqual(ids.toSorted());
  });

  it('filters by status, direction, agent, external_call_id and time', async () => {
    const ids = async (query: string) =>
      listOf(await api.get(`/calls?limit=100&to=2026-11-02${query}`, owner.liveKey)).data.map(({ call_id: id }) => id);
    expect(await ids('&status=FAILED')).toEqual([callIds[3]]);
    expect(await ids('&status=IDLE')).toEqual([]);
    expect(await ids('&direction=inbound')).toEqual([]);
    expect(await ids(`&agent_id=${owner.agent._id}`)).toHaveLength(7);
    expect(await ids('&agent_id=agent_other')).toEqual([]);
    expect(await ids('&external_call_id=order-4711')).toHaveLength(7);
    expect(await ids('&external_call_id=order')).toEqual([]);
    expect(await ids('&from=2026-11-01T10:00:03Z')).toEqual([callIds[6]]);
  });

  it.each([
    'status=DONE',
    'direction=up',
    'status[$ne]=FAILED',
    'agent_id=a&agent_id=b',
    'from=yesterday',
    'limit=-1',
    'cursor=AAAA',
    '$where=1',
  ])('rejects ?%s with 400', async (query) => {
    expectError(await api.get(`/calls?${query}`, owner.liveKey), 400, 'MISSING_PARAMS');
  });

  it('accepts a cursor only with its filter, and treats a limit of 1e9 as 100', async () => {
    const { next_cursor: cursor } = listOf(await api.get('/calls?limit=1', owner.liveKey));
    const moved = await api.get(`/calls?status=COMPLETED&cursor=${String(cursor)}`, owner.liveKey);
    expectError(moved, 400, 'MISSING_PARAMS', /cursor/);
    expect((await api.get('/calls?limit=1000000000', owner.liveKey)).status).toBe(200);
  });
});

describe('a call', () => {
  it('is shown with its timeline, cost by window, and webhook attempts', async () => {
    const callId = await api.endedCall(customer);
    const ledger = createLedger(service.database);
    const ledgerAccountId = api.moneyOf(customer);
    await ledger.hold({ ledgerAccountId, callId, window: 0, maxDurationSeconds: 600, microsPerSecond: 2_500 });
    await ledger.hold({ ledgerAccountId, callId, window: 1, maxDurationSeconds: 600, microsPerSecond: 2_500 });
    await ledger.settle({ ledgerAccountId, callId, billedSeconds: 70 });
    const events = createCarrierEvents(service.database);
    const carrierEvent = { callId, carrierSid: sidOf('CA', 1) };
    await events.add({ ...carrierEvent, sequence: 2, status: 'completed', at: new Date(), durationSeconds: 70 });
    await events.add({ ...carrierEvent, sequence: 2, status: 'completed', at: new Date(), durationSeconds: 70 });
    await events.add({ ...carrierEvent, sequence: 1, status: 'in-progress', at: new Date() });

    const { status, json } = await api.get(`/calls/${callId}`, customer.liveKey);
    expect(status).toBe(200);
    expect(json).toMatchObject({
      call_id: callId,
      status: 'COMPLETED',
      end_reason: 'callee_hangup',
      instruction: 'Mention the purple elephant.',
      input_parameters: '{"customer":"Ms Chen"}',
      workflow_id: callId,
      cost_micros: 25_000,
      price_per_minute: 0.15,
      webhook_attempts: [],
    });
    expect(json['cost_windows']).toMatchObject([
      { window: 0, held_seconds: 60, billed_seconds: 60, billed_micros: 150_000 },
      { window: 1, held_seconds: 180, billed_seconds: 10, billed_micros: 25_000 },
    ]);
    const timeline = json['timeline'] as { at: string; source: string; event: string; sequence?: number }[];
    const ours = timeline.filter(({ source }) => source !== 'carrier').map(({ at }) => at);
    expect(ours).toEqual(ours.toSorted());
    const of = (source: string) => timeline.filter((each) => each.source === source);
    expect(of('call').map(({ event, sequence }) => [event, sequence])).toEqual([
      ['requested', undefined],
      ['RINGING', 1],
      ['IN_PROGRESS', 2],
      ['COMPLETED', 3],
    ]);
    // The carrier numbers its events, whatever order they arrive in.
    expect(of('carrier').map(({ event, sequence }) => `${event} ${sequence}`)).toEqual([
      'in-progress 1',
      'completed 2',
    ]);
    expect(of('money').map(({ event }) => event)).toEqual(['hold', 'hold', 'settlement']);
  });

  it('includes each status callback of the carrier once, even if it is late and repeated', async () => {
    const callId = await api.endedCall(customer);
    const form = { CallSid: sidOf('CA', 77), CallStatus: 'completed', SequenceNumber: '3', CallDuration: '10' };
    for (let times = 0; times < 3; times++) {
      expect((await service.carrierPost(`/carrier/calls/${callId}/status`, form)).status).toBe(200);
    }
    const { json } = await api.get(`/calls/${callId}`, customer.liveKey);
    const carrier = (json['timeline'] as { source: string }[]).filter(({ source }) => source === 'carrier');
    expect(carrier).toMatchObject([{ event: 'completed', sequence: 3, details: { duration_seconds: 10 } }]);
  });

  it('has a transcript with the latency of each response', async () => {
    const callId = await api.endedCall(customer);
    const results = createCallResults(service.database);
    const key = { callId, streamId: sidOf('MZ', 1) };
    await results.begin({ ...key, carrierSid: sidOf('CA', 1), engine: 'test', startedAt: new Date() });
    await results.checkpoint(key, {
      agentAudioPlayed: true,
      turns: [
        { speaker: 'agent', text: 'Hello.', startMs: 0, endMs: 900 },
        { speaker: 'caller', text: 'Who is this?', startMs: 1_000, endMs: 2_000 },
        { speaker: 'agent', text: 'Amber.', startMs: 2_450, endMs: 3_000 },
      ],
    });
    const { json } = await api.get(`/calls/${callId}/transcript`, customer.liveKey);
    expect(json).toMatchObject({ text: 'agent: Hello.\ncaller: Who is this?\nagent: Amber.' });
    const turns = json['turns'] as { latency_ms?: number }[];
    expect(turns.map((turn) => turn.latency_ms)).toEqual([undefined, undefined, 450]);
  });

  it('has its latencies by stage and its tool calls', async () => {
    const callId = await api.endedCall(customer);
    await service.database.conversationResults.create({
      _id: callId,
      carrierSid: sidOf('CA', 1),
      streamSid: sidOf('MZ', 1),
      startedAt: new Date(),
      engine: 'pipeline',
      agentAudioPlayed: true,
      turns: [],
      latencies: [
        { atMs: 2_600.4, totalMs: 740, parts: { recogniser: 210, model: 380, voice: 120, own: 30, other: 1 } },
        { atMs: 9_000, totalMs: 500 },
      ],
      toolCalls: [{ name: 'find', atMs: 4_000, durationMs: 180, ok: false, arguments: '{"day":1}', result: 'gone' }],
    });
    const { json } = await api.get(`/calls/${callId}/trace`, customer.liveKey);
    const stages = [
      { stage: 'stt', ms: 210 },
      { stage: 'llm', ms: 380 },
      { stage: 'tts', ms: 120 },
      { stage: 'own', ms: 30 },
    ];
    expect(json).toEqual({
      call_id: callId,
      latencies: [
        { at_ms: 2_600, total_ms: 740, stages },
        { at_ms: 9_000, total_ms: 500, stages: [] },
      ],
      tool_calls: [
        { name: 'find', at_ms: 4_000, duration_ms: 180, succeeded: false, arguments: '{"day":1}', result: 'gone' },
      ],
    });
  });

  it.each([
    ['GET', ''],
    ['GET', '/events'],
    ['GET', '/transcript'],
    ['GET', '/trace'],
    ['GET', '/waveform'],
    ['GET', '/recording'],
    ['POST', '/cancel'],
    ['POST', '/erase'],
  ] as const)('responds to %s %s for another account or mode as for no call', async (method, path) => {
    const theirs = await api.endedCall(other);
    const test = await api.endedCall(customer, { mode: 'test' });
    const answers = await Promise.all(
      [theirs, test, UNKNOWN, 'x', '%24ne'].map((id) =>
        service.request(`/calls/${id}${path}`, { method, key: customer.liveKey }),
      ),
    );
    for (const answer of answers) expectError(answer, 404, 'CALL_NOT_FOUND');
    expect(new Set(answers.map(withoutRequestId)).size).toBe(1);
    expect((await api.get(`/calls/${theirs}`, other.liveKey)).json).not.toHaveProperty('erased_at');
  });

  it('is placed by POST /calls, with the same validation', async () => {
    const post = (body: object) => api.post('/calls', customer.testKey, body);
    const placed = await post({ to_phone_number: '+12025550100', agent_id: customer.agent._id });
    expect(placed.json).toMatchObject({ call_id: expect.stringMatching(/^call_/), mode: 'test', cost_windows: [{}] });
    expectError(await post({ to_phone_number: '+12025550100' }), 400, 'MISSING_PARAMS', /agent_id/);
    expectError(await post({ agent_id: customer.agent._id, to_phone_number: '12' }), 400, 'MISSING_PARAMS');
    const unknown = { to_phone_number: '+12025550100', agent_id: customer.agent._id, price: 0 };
    expectError(await post(unknown), 400, 'MISSING_PARAMS', /unknown field/);
    const blank = { to_phone_number: '+12025550100', instruction: ' ' };
    expectError(await post(blank), 400, 'MISSING_PARAMS', /instruction/);
    const named = await post({ ...blank, agent_id: customer.agent._id, webhook_url: null });
    expect(named.json).toMatchObject({ instruction: customer.agent.instruction });
    const withOtherAgent = { to_phone_number: '+12025550100', agent_id: other.agent._id };
    expectError(await post(withOtherAgent), 404, 'AGENT_NOT_FOUND');
    const poorCustomer = await service.customer(0);
    const callRequest = { to_phone_number: '+12025550100', agent_id: poorCustomer.agent._id };
    expectError(await api.post('/calls', poorCustomer.liveKey, callRequest), 402, 'INSUFFICIENT_BALANCE');
  });

  it('is streamed as server-sent events until it ends', async () => {
    const callId = await api.endedCall(customer);
    const answer = await service.request(`/calls/${callId}/events`, { key: customer.liveKey });
    expect(answer.headers.get('content-type')).toBe('text/event-stream');
    const [first = ''] = answer.text.split('\n\n');
    expect(first.startsWith('event: call\ndata: {')).toBe(true);
    expect(JSON.parse(first.slice('event: call\ndata: '.length))).toMatchObject({ call_id: callId });
  });
});

describe('cancelling', () => {
  it('responds with 409 and the final state for a call that has ended', async () => {
    const callId = await api.endedCall(customer);
    const answer = await api.post(`/calls/${callId}/cancel`, customer.liveKey);
    expectError(answer, 409, 'CALL_ENDED');
    expect(answer.json).toMatchObject({ status: 'COMPLETED', end_reason: 'callee_hangup' });
  });
});

describe('erasing', () => {
  it('removes all personal data of a call everywhere and keeps the money unchanged', async () => {
    const receiver: Receiver = await startReceiver((response) =>
      response.writeHead(200, { 'x-note': 'a purple elephant' }).end('purple elephant noted'),
    );
    const callId = await api.endedCall(customer, { webhookUrl: receiver.url, hasRecording: true });
    const { database } = service;
    const results = createCallResults(database);
    await results.begin({
      callId,
      streamId: sidOf('MZ', 1),
      carrierSid: sidOf('CA', 1),
      engine: 'test',
      startedAt: new Date(),
    });
    const turns = [{ speaker: 'agent' as const, text: 'purple elephant', startMs: 0, endMs: 1 }];
    const used = { name: 'find', atMs: 0, durationMs: 9, ok: true, arguments: '{}', result: 'purple elephant' };
    const progress = { agentAudioPlayed: true, turns, toolCalls: [used] };
    await results.checkpoint({ callId, streamId: sidOf('MZ', 1) }, progress);
    const recording = createRecordings(database).open({ callId, stream: 0, offsetMs: 0 }, Promise.resolve(true));
    recording.write(Buffer.alloc(64_000));
    await recording.close();
    const ledger = createLedger(database);
    const ledgerAccountId = api.moneyOf(customer);
    await ledger.hold({ ledgerAccountId, callId, window: 0, maxDurationSeconds: 600, microsPerSecond: 2_500 });
    await ledger.settle({ ledgerAccountId, callId, billedSeconds: 10 });
    const { createCompletionSender } = await import('../../../src/calls/wiring.js');
    const { createLogger } = await import('../../../src/platform/telemetry/logger.js');
    const sender = createCompletionSender({
      config: service.config,
      database,
      logger: createLogger({ role: 'test', level: 'silent' }),
    });
    await expect(sender.attempt(callId)).resolves.toEqual({ result: 'delivered' });
    const everything = async () => {
      const collections = (await database.connection.db?.collections()) ?? [];
      const texts = await Promise.all(
        collections.map(async (each) => {
          const rows = await each.find({ $or: [{ _id: callId as never }, { callId }, { files_id: callId }] }).toArray();
          return JSON.stringify(rows);
        }),
      );
      return texts.join('\n');
    };
    expect((await api.get(`/calls/${callId}/waveform`, customer.liveKey)).status).toBe(200);
    const secrets = [
      'purple elephant',
      'x-note',
      'webhook-timestamp',
      '"waveform"',
      '+12025550100',
      'Ms Chen',
      'order-4711',
      receiver.url,
    ];
    const before = await everything();
    for (const secret of secrets) expect(before).toContain(secret);
    const balance = await ledger.balance(ledgerAccountId);

    const answer = await api.post(`/calls/${callId}/erase`, customer.liveKey);
    expect(answer.json).toEqual({ call_id: callId, erased_at: expect.any(String) });
    const after = await everything();
    for (const secret of secrets) expect(after).not.toContain(secret);
    expect(await createRecordings(database).read(callId)).toBeNull();
    expectError(await api.get(`/calls/${callId}/waveform`, customer.liveKey), 404, 'NOT_FOUND');
    const trace = await api.get(`/calls/${callId}/trace`, customer.liveKey);
    expect(trace.json).toEqual({ call_id: callId, latencies: [], tool_calls: [] });
    expect(await ledger.balance(ledgerAccountId)).toEqual(balance);
    const { json } = await api.get(`/calls/${callId}`, customer.liveKey);
    expect(json).toMatchObject({
      status: 'COMPLETED',
      cost_micros: 25_000,
      to_phone_number: '',
      erased_at: answer.json['erased_at'],
      cost_windows: [{ billed_seconds: 10 }],
    });
    expect((json['timeline'] as { event: string }[]).at(-1)).toMatchObject({ event: 'erased', sequence: 4 });
    expectError(await api.get(`/calls/${callId}/recording`, customer.liveKey), 404, 'NOT_FOUND');
    // Neither a second erasure nor a redelivery of the webhook changes anything.
    expect((await api.post(`/calls/${callId}/erase`, customer.liveKey)).json).toEqual(answer.json);
    expectError(await api.post(`/webhook_deliveries/${callId}/redeliver`, customer.liveKey), 409, 'CONFLICT');
    await expect(sender.attempt(callId, 1)).resolves.toEqual({ result: 'exhausted' });
    expect(receiver.received).toHaveLength(1);
    await receiver.close();
  });

  it('responds with 409 while the call runs', async () => {
    const callRequest = { to_phone_number: '+12025550100', agent_id: customer.agent._id };
    // A busy machine may respond with 503, and then no call exists.
    const { status, json } = await eventually(async () => {
      const answer = await api.post('/calls', customer.testKey, callRequest);
      return answer.status !== 503 && answer;
    });
    expect(status).toBe(200);
    const callId = String(json['call_id']);
    const running = await api.post(`/calls/${callId}/erase`, customer.testKey);
    if (running.status !== 200) expectError(running, 409, 'CONFLICT');
    await eventually(async () => (await api.get(`/calls/${callId}`, customer.testKey)).json['status'] === 'FAILED');
    expect((await api.post(`/calls/${callId}/erase`, customer.testKey)).status).toBe(200);
  });
});
