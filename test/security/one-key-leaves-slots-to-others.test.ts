import { once } from 'node:events';
import { createServer, get, type ClientRequest, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { RouteLoad } from '../../src/platform/http/contract/route.js';
import type { ApiContext } from '../../src/platform/http/context.js';
import { createAccountQueues } from '../../src/platform/http/routing/account-queues.js';
import { createWatcherCounts } from '../../src/calls/views/watcher-counts.js';
import { eventually } from '../support/http/harness.js';

const LOADS: RouteLoad[] = ['read', 'change', 'detail', 'list', 'export', 'recording'];
/** More than the buffers of the sockets between a server and its client. */
const LARGE = 24 * 1_024 * 1_024;
/** More than any kind of request may have in progress. */
const MANY = 40;

describe.each(LOADS)('a key whose requests of the kind "%s" never end', (load) => {
  const clients: ClientRequest[] = [];
  const server = createServer();
  const turns = createAccountQueues({ waitTimeoutMs: 3_000 });
  let url = '';
  let running = 0;

  beforeAll(async () => {
    server.on('request', (req, res) => {
      const [, sender = '', ends = ''] = String(req.url).split('/');
      const ctx = { res, state: {} } as unknown as ApiContext;
      const work = async () => {
        if (ends === 'at-once') return res.end('done');
        running += 1;
        // Requests that only need the database keep their slot while they run, all others until they were read.
        if (load === 'read' || load === 'change') return new Promise<never>(() => undefined);
        return res.end(Buffer.alloc(LARGE));
      };
      turns
        .run(ctx, load, { account: { _id: 'account' }, mode: 'live', sender }, work)
        .catch(() => res.writeHead(429).end());
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    for (const client of clients) client.destroy();
    server.closeAllConnections();
    server.close();
  });

  /** Sends a request whose response is not read. */
  function send(path: string): ClientRequest {
    const client = get(`${url}/${path}`, { agent: false });
    client.on('error', () => undefined);
    clients.push(client);
    return client;
  }

  it('neither takes the slots of the other keys and members of its account nor keeps them waiting', async () => {
    for (let sent = 0; sent < MANY; sent++) send('thief/never');
    const most = { read: 8, change: 28, detail: 5, list: 3, export: 2, recording: 5 };
    await eventually(async () => running === most[load]);
    for (const sender of ['another key', 'owner', 'owner']) {
      const [response] = (await once(send(`${encodeURIComponent(sender)}/at-once`), 'response')) as [IncomingMessage];
      expect(response.statusCode).toBe(200);
      response.resume();
      await once(response, 'end');
    }
  });
});

it('a key that opens as many event streams as it may leaves some to the others of its account', () => {
  const counts = createWatcherCounts();
  const open = (sender: string) => () => counts.enter('account live', sender);
  for (let opened = 0; opened < 20; opened++) open('thief')();
  expect(open('thief')).toThrow(expect.objectContaining({ code: 'CONCURRENCY_LIMIT_EXCEEDED' }) as Error);
  const leave = open('owner')();
  for (let opened = 1; opened < 4; opened++) open('another key')();
  expect(open('owner')).toThrow(expect.objectContaining({ code: 'CONCURRENCY_LIMIT_EXCEEDED' }) as Error);
  leave();
  expect(open('another key')).not.toThrow();
});
