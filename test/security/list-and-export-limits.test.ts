import { once } from 'node:events';
import { createServer, get, type ClientRequest, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createStatements } from '../../src/billing/statements/statements.js';
import { routes } from '../../src/api/routes.js';
import { ledgerAccountId } from '../../src/kernel/ids.js';
import type { ApiContext } from '../../src/platform/http/context.js';
import type { Route } from '../../src/platform/http/contract/route.js';
import { createAccountQueues, type AccountQueues } from '../../src/platform/http/routing/account-queues.js';
import { eventually, startService } from '../support/http/harness.js';

it('every list, export, transcript and recording declares a limit of simultaneous requests', () => {
  const all: [string, Route][] = Object.entries(routes);
  const costly = all.filter(([, { method, path, query, success }]) => {
    const isList = method === 'get' && query?.shape['limit'] !== undefined;
    const isOfWholeCall = method === 'get' && /\/(transcript|recording)$/.test(path);
    return isList || isOfWholeCall || success.alternatives?.['text/csv'] !== undefined;
  });
  expect(costly.length).toBeGreaterThanOrEqual(6);
  expect(costly.filter(([, { load }]) => load === undefined).map(([id]) => id)).toEqual([]);
});

it('at most 3 lists of an account are read at once, and 20 simultaneous requests all get a response', async () => {
  const service = await startService({ worker: false });
  try {
    const { liveKey } = await service.customer();
    const { collection } = service.database.agents;
    let reading = 0;
    let most = 0;
    const find = collection.find.bind(collection);
    jest.spyOn(collection, 'find').mockImplementation(((...args: Parameters<typeof find>) => {
      const cursor = find(...args);
      most = Math.max(most, ++reading);
      (cursor as unknown as NodeJS.EventEmitter).once('close', () => (reading -= 1));
      return cursor;
    }) as never);
    const responses = await Promise.all(Array.from({ length: 20 }, () => service.request('/agents', { key: liveKey })));
    expect(responses.map(({ status }) => status)).toEqual(responses.map(() => 200));
    expect(most).toBeGreaterThan(0);
    expect(most).toBeLessThanOrEqual(3);
  } finally {
    await service.close();
  }
}, 60_000);

it('the sum over a period is cancelled when its client disconnects', async () => {
  const service = await startService({ worker: false });
  try {
    const { account } = await service.customer();
    const id = ledgerAccountId(account._id, 'live');
    const entry = { ledgerAccountId: id, type: 'settlement', amountMicros: -1, at: new Date() };
    const entries = Array.from({ length: 3 }, (_, n) => ({ ...entry, _id: `${id} ${n}` }));
    await service.database.ledgerEntries.collection.insertMany(entries as never[]);
    const usage = createStatements(service.database, { namesOf: async () => new Map() } as never).usage({
      ledgerAccountId: id,
      from: new Date(0),
      to: new Date(Date.now() + 1_000),
      groupBy: 'day',
      signal: AbortSignal.abort(new Error('the client is gone')),
    });
    await expect(usage).rejects.toThrow('the client is gone');
  } finally {
    await service.close();
  }
}, 60_000);

describe('queued requests of an account', () => {
  let server: Server;
  let turns: AccountQueues;
  let started: number;
  let finish: (() => void)[];
  /**
   * The size of the response. Some responses are so large that a client that does not read them blocks the server's
   * socket.
   */
  let size: number;
  const clients: ClientRequest[] = [];

  beforeEach(async () => {
    [turns, started, finish, size] = [createAccountQueues({ waitTimeoutMs: 60_000 }), 0, [], 1];
    server = createServer((req, res) => {
      const ctx = { res, state: {} } as unknown as ApiContext;
      const work = async () => {
        started += 1;
        await new Promise<void>((resolve) => finish.push(resolve));
        res.end('x'.repeat(size));
      };
      turns
        .run(ctx, 'export', { account: { _id: String(req.url) }, mode: 'live', sender: 'key' }, work)
        .catch(() => res.writeHead(429).end());
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterEach(() => {
    for (const client of clients.splice(0)) client.destroy();
    server.closeAllConnections();
    server.close();
  });

  function ask(account = 'a', read = true): { client: ClientRequest; status: Promise<number | string> } {
    const { port } = server.address() as AddressInfo;
    const client = get({ host: '127.0.0.1', port, path: `/${account}`, agent: false });
    clients.push(client);
    const status = new Promise<number | string>((resolve) => {
      client.on('error', () => resolve('cut off'));
      client.on('response', (response: IncomingMessage) => {
        if (read) response.resume();
        resolve(response.statusCode ?? 0);
      });
    });
    return { client, status };
  }
  const hasStarted = (count: number) => eventually(async () => started === count);
  const finishOne = () => finish.shift()?.();

  it('start when an earlier one ends, and do not delay other accounts', async () => {
    const requests = [ask(), ask(), ask()];
    await hasStarted(2);
    const other = ask('b');
    await hasStarted(3);
    finishOne();
    await hasStarted(4);
    while (finish.length > 0) finishOne();
    expect(await Promise.all([...requests, other].map(({ status }) => status))).toEqual([200, 200, 200, 200]);
    await eventually(async () => turns.size() === 0);
  });

  it('are rejected when 20 wait', async () => {
    const requests = Array.from({ length: 23 }, () => ask());
    expect(await Promise.race(requests.map(({ status }) => status))).toBe(429);
    expect(started).toBe(2);
  });

  it('keep their slot while their work continues, even without a client, and release it afterwards', async () => {
    const gone = [ask(), ask()];
    await hasStarted(2);
    const next = ask();
    for (const { client } of gone) client.destroy();
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(started).toBe(2);
    finishOne();
    await hasStarted(3);
    finishOne();
    finishOne();
    expect(await next.status).toBe(200);
    await eventually(async () => turns.size() === 0);
  });

  it('are cut off when they are read too slowly', async () => {
    const limit = { maxRunning: 1, readTimeoutMs: 300 };
    turns = createAccountQueues({
      waitTimeoutMs: 60_000,
      limits: { read: limit, change: limit, detail: limit, list: limit, export: limit, recording: limit },
    });
    size = 64 * 1_024 * 1_024;
    const slow = ask('a', false);
    await hasStarted(1);
    finishOne();
    await slow.status;
    size = 1;
    const next = ask();
    await hasStarted(2);
    finishOne();
    expect(await next.status).toBe(200);
  });
});
