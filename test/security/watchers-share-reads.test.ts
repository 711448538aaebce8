import { get, type ClientRequest } from 'node:http';
import { randomUUID } from 'node:crypto';
import { createCallProjection } from '../../src/calls/projection.js';
import { createCallResults } from '../../src/calls/wiring.js';
import { newCallId } from '../support/store/test-database.js';
import { sidOf } from '../support/sids.js';
import { eventually, startService, type Customer, type Service } from '../support/http/harness.js';
import { callRequest } from '../support/store/call-request.js';

const WATCHERS = 20;

describe('a call with many watchers', () => {
  let service: Service;
  let customer: Customer;
  const clients: ClientRequest[] = [];
  /** The number of reads of each collection, and the bytes that were read of the session's result. */
  let reads: Record<string, number>;
  let resultBytes: number;

  beforeAll(async () => {
    const uri = `${process.env['TEST_MONGODB_URI']}/watched_${randomUUID()}?monitorCommands=true`;
    service = await startService({ worker: false, env: { MONGODB_URI: uri } });
    customer = await service.customer();
    const client = service.database.connection.getClient();
    client.on('commandStarted', ({ command }) => {
      const name = String(command['find'] ?? '');
      if (name !== '') reads[name] = (reads[name] ?? 0) + 1;
    });
    client.on('commandSucceeded', ({ reply }) => {
      const { cursor } = reply as { cursor?: { ns: string; firstBatch?: unknown[] } };
      if (cursor?.ns.endsWith('.conversation_results')) resultBytes += JSON.stringify(cursor.firstBatch).length;
    });
  });
  beforeEach(() => {
    reads = {};
    resultBytes = 0;
  });
  afterAll(async () => {
    for (const client of clients) client.destroy();
    await service.close();
  });

  it('is read once for all of them, and rarely while nothing changes', async () => {
    const callId = newCallId();
    const at = Date.now() - 60_000;
    const request = callRequest({
      _id: callId,
      accountId: customer.account._id,
      mode: 'test',
      agentId: customer.agent._id,
      createdAt: new Date(at),
    });
    await service.database.callRequests.create(request);
    const projection = createCallProjection(service.database);
    await projection.begin(request, { callId, sequence: 1, at });
    const results = createCallResults(service.database);
    const key = { callId, streamId: sidOf('MZ', 1) };
    await results.begin({ ...key, carrierSid: sidOf('CA', 1), engine: 'test', startedAt: new Date(at) });
    const turns = Array.from({ length: 1_000 }, (_, n) => {
      return { speaker: 'agent' as const, text: 'Good morning.', startMs: n, endMs: n + 1 };
    });
    await results.checkpoint(key, { agentAudioPlayed: true, turns });

    const received = Array.from({ length: WATCHERS }, () => '');
    for (let n = 0; n < WATCHERS; n++) {
      const headers = { Authorization: `Bearer ${customer.testKey}` };
      const client = get(`${service.baseUrl}/calls/${callId}/events`, { agent: false, headers }, (response) => {
        response.on('data', (data: Buffer) => (received[n] += String(data)));
      });
      client.on('error', () => undefined);
      clients.push(client);
    }
    await eventually(async () => received.every((text) => text.includes('"RINGING"')));
    reads = {};
    resultBytes = 0;
    await new Promise((resolve) => setTimeout(resolve, 4_000));
    // The limit allows two shared reads and one more. If each watcher read 8 times, there would be 160 reads.
    expect(reads['conversation_results'] ?? 0).toBeLessThanOrEqual(3);
    expect(reads['calls'] ?? 0).toBeLessThanOrEqual(20);
    expect(resultBytes).toBeLessThan(10_000);

    const answeredAt = Date.now();
    await projection.apply({ callId, sequence: 2, at: answeredAt, status: 'IN_PROGRESS', startTime: answeredAt });
    await eventually(async () => received.every((text) => text.includes('"IN_PROGRESS"')), 10_000);
  }, 60_000);
});
