import { EventEmitter, once } from 'node:events';
import { createServer, get, type ClientRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { routes } from '../../src/api/routes.js';
import { limitConnections } from '../../src/platform/http/connection-limits.js';
import type { Route } from '../../src/platform/http/contract/route.js';
import { createWebhookAttempts } from '../../src/webhooks/attempts.js';
import { createWebhookDeliveries } from '../../src/webhooks/deliveries.js';
import { startService, type ServiceResponse, type Customer, type Service } from '../support/http/harness.js';
import { managementOf } from '../support/http/management-support.js';

const clients: ClientRequest[] = [];
afterEach(() => {
  for (const client of clients.splice(0)) client.destroy();
});

async function ask(url: string): Promise<IncomingMessage> {
  const client = get(url, { agent: false });
  clients.push(client);
  client.on('error', () => undefined);
  const [response] = (await once(client, 'response')) as [IncomingMessage];
  return response;
}

it('every route that returns an agent, and every read of a call, declares a limit of simultaneous requests', () => {
  const all: [string, Route][] = Object.entries(routes);
  const large = all.filter(([, { method, success }]) => {
    const { id } = success.schema.meta() ?? {};
    return id === 'Agent' || id === 'SavedAgent' || (id === 'Call' && method === 'get');
  });
  expect(large.length).toBeGreaterThanOrEqual(5);
  expect(large.filter(([, { load }]) => load === undefined).map(([id]) => id)).toEqual([]);
});

describe('a call with a long transcript', () => {
  let service: Service;
  let customer: Customer;
  beforeAll(async () => {
    service = await startService();
    customer = await service.customer();
  }, 60_000);
  afterAll(() => service.close());

  /** Expects that twelve simultaneous requests all get a response, and that at most four at a time read the call. */
  async function expectFourAtOnce(ask: () => Promise<ServiceResponse>): Promise<void> {
    const { collection } = service.database.calls;
    const findOne = collection.findOne.bind(collection);
    let [reading, most] = [0, 0];
    const slow = jest.spyOn(collection, 'findOne').mockImplementation((async (...args: Parameters<typeof findOne>) => {
      most = Math.max(most, ++reading);
      await sleep(200);
      reading -= 1;
      return findOne(...args);
    }) as never);
    const responses = await Promise.all(Array.from({ length: 12 }, ask));
    slow.mockRestore();
    expect(responses.map(({ status }) => status)).toEqual(responses.map(() => 200));
    expect(most).toBe(4);
  }

  it('is read at most four times at once for an account', async () => {
    const ask = managementOf(service);
    const callId = await ask.endedCall(customer);
    await expectFourAtOnce(() => ask.get(`/calls/${callId}`, customer.liveKey));
  }, 60_000);

  it('is read at most four times at once for repeats of the request that placed it', async () => {
    const placing = {
      method: 'POST',
      key: customer.testKey,
      headers: { 'Content-Type': 'application/json', 'Idempotency-Key': 'the-same' },
      body: JSON.stringify({ to_phone_number: '+12025550101', instruction: 'Hello.' }),
    };
    expect((await service.request('/calls', placing)).status).toBe(200);
    await expectFourAtOnce(() => service.request('/calls', placing));
  }, 60_000);
});

it('a call shows the last 20 webhook attempts, and the delivery shows all', async () => {
  const service = await startService({ worker: false });
  try {
    const customer = await service.customer();
    const ask = managementOf(service);
    const callId = await ask.endedCall(customer, { webhookUrl: 'https://example.com/done' });
    const url = 'https://example.com/done';
    const accountId = customer.account._id;
    await createWebhookDeliveries(service.database).insert({
      _id: callId,
      callId,
      accountId,
      mode: 'live',
      url,
      endpoint: url,
      body: '{}',
      createdAt: new Date(),
    });
    const attempts = createWebhookAttempts(service.database);
    for (let number = 1; number <= 204; number++) {
      await attempts.begin(callId, number, new Date(Date.now() + number), Math.floor((number - 1) / 4));
      const outcome = { outcome: 'failed' as const, httpStatus: 500, responseBody: '\u0001'.repeat(1_024) };
      await attempts.finish(callId, number, outcome, { finished: new Date(Date.now() + number) });
    }
    const call = await ask.get(`/calls/${callId}`, customer.liveKey);
    expect(call.text.length).toBeLessThan(200_000);
    const read = call.json as { webhook_attempts: { number: number }[]; timeline: { source: string }[] };
    const last = Array.from({ length: 20 }, (_, index) => 185 + index);
    expect(read.webhook_attempts.map(({ number }) => number)).toEqual(last);
    expect(read.timeline.filter(({ source }) => source === 'webhook')).toHaveLength(20);
    const delivery = await ask.get(`/webhook_deliveries/${callId}`, customer.liveKey);
    expect((delivery.json as { attempt_log: unknown[] }).attempt_log).toHaveLength(204);
  } finally {
    await service.close();
  }
}, 60_000);

describe('the output that waits for a client', () => {
  const READ_WITHIN_MS = 1_500;
  const MOST_MS = 20_000;

  /**
   * Measures in ms how long the server keeps a connection whose client pauses after each read. The client may have
   * megabytes left to read then, which take it several seconds. Stops after `MOST_MS`.
   */
  async function measureConnection(answer: (res: ServerResponse) => void, pauseMs: number): Promise<number> {
    const closed = new EventEmitter();
    const server = createServer((req, res) => {
      req.socket.once('close', () => closed.emit('close'));
      connections.admit(req, res);
      answer(res);
    });
    const connections = limitConnections(server, { readWithinMs: READ_WITHIN_MS });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const startedAt = performance.now();
    const over = once(closed, 'close');
    const response = await ask(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    const limit = setTimeout(() => response.destroy(), MOST_MS);
    response.on('error', () => undefined);
    response.on('data', () => {
      response.pause();
      setTimeout(() => response.resume(), pauseMs);
    });
    await over;
    const lastedMs = performance.now() - startedAt;
    clearTimeout(limit);
    response.destroy();
    server.close();
    return lastedMs;
  }

  const large = Buffer.alloc(64 * 1_024 * 1_024);

  it('is dropped with the connection if it is not read in time, even if some of it is', async () => {
    expect(await measureConnection((res) => res.end(large), 100)).toBeLessThan(MOST_MS / 2);
  }, 60_000);

  it('is also dropped if it is an event stream', async () => {
    const stream = (res: ServerResponse) => {
      res.writeHead(200, { 'Content-Type': 'text/event-stream' });
      res.write(large);
    };
    expect(await measureConnection(stream, 100)).toBeLessThan(MOST_MS / 2);
  }, 60_000);

  it('may take longer if each part is read in time', async () => {
    let timer: NodeJS.Timeout | undefined;
    const stream = (res: ServerResponse) => {
      let parts = 0;
      timer = setInterval(() => {
        res.write(Buffer.alloc(1_000));
        if (++parts === 50) res.end();
      }, 100);
    };
    const took = await measureConnection(stream, 1);
    clearInterval(timer);
    expect(took).toBeGreaterThan(3 * READ_WITHIN_MS);
  }, 60_000);
});
