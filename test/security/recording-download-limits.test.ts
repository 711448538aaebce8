import { once } from 'node:events';
import { createServer, get, type ClientRequest, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createRecordings } from '../../src/voice/recordings/recordings.js';
import type { Mode } from '../../src/kernel/ids.js';
import type { ApiContext } from '../../src/platform/http/context.js';
import { createAccountQueues } from '../../src/platform/http/routing/account-queues.js';
import { eventually, startService, type Customer, type Service } from '../support/http/harness.js';
import { managementOf } from '../support/http/management-support.js';

const clients: ClientRequest[] = [];
const closers: (() => void)[] = [];
afterEach(() => {
  for (const client of clients.splice(0)) client.destroy();
  for (const close of closers.splice(0)) close();
});

/** Requests the URL, but reads nothing of the body. */
async function stalled(url: string, key = ''): Promise<IncomingMessage> {
  const client = get(url, { agent: false, headers: { Authorization: `Bearer ${key}` } });
  clients.push(client);
  client.on('error', () => undefined);
  const [response] = (await once(client, 'response')) as [IncomingMessage];
  return response;
}

const askAndStall = async (url: string, key?: string) => (await stalled(url, key)).statusCode;

describe('downloads of recordings', () => {
  let service: Service;
  let customer: Customer;
  const calls: Partial<Record<Mode, string>> = {};

  beforeAll(async () => {
    service = await startService({ worker: false });
    customer = await service.customer();
    for (const mode of ['live', 'test'] as const) {
      const callId = await managementOf(service).endedCall(customer, { mode, hasRecording: true });
      // A recording of an hour. Nearly all of it is silence, for which no data is stored.
      const key = { callId, stream: 0, offsetMs: 3_600_000 };
      const writer = createRecordings(service.database).open(key, Promise.resolve(true));
      writer.write(Buffer.alloc(32_000));
      await writer.close();
      calls[mode] = callId;
    }
  }, 60_000);
  afterAll(() => service.close());

  const urlOf = (mode: Mode, what: string) => `${service.baseUrl}/calls/${calls[mode]}/${what}`;

  it('that are not read are limited per account, and delay neither transcripts nor the other mode', async () => {
    const { testKey, liveKey } = customer;
    const answers: IncomingMessage[] = [];
    const rejected = () => answers.filter(({ statusCode }) => statusCode === 429);
    // A busy database may end a download, and another one can then begin. The limit of five applies only to downloads
    // that are in progress.
    for (let requested = 0; requested < 40 && rejected().length === 0; requested += 8) {
      const more = Array.from({ length: 8 }, () => stalled(urlOf('test', 'recording'), testKey));
      answers.push(...(await Promise.all(more)));
    }
    const inProgress = answers.filter(({ statusCode, destroyed }) => statusCode === 200 && !destroyed);
    expect(rejected().length).toBeGreaterThan(0);
    expect(inProgress.length).toBeGreaterThan(0);
    expect(inProgress.length).toBeLessThanOrEqual(5);
    expect(await askAndStall(urlOf('test', 'transcript'), testKey)).toBe(200);
    expect(await askAndStall(urlOf('live', 'recording'), liveKey)).toBe(200);
  }, 60_000);
});

it('lists of test mode delay no list of live mode', async () => {
  const service = await startService({ worker: false });
  const finish: (() => void)[] = [];
  try {
    const { liveKey, testKey } = await service.customer();
    const { collection } = service.database.calls;
    const find = collection.find.bind(collection);
    jest.spyOn(collection, 'find').mockImplementation(((...args: Parameters<typeof find>) => {
      const cursor = find(...args);
      if ((args[0] as { mode?: Mode }).mode !== 'test') return cursor;
      const read = cursor[Symbol.asyncIterator].bind(cursor);
      cursor[Symbol.asyncIterator] = async function* hold() {
        await new Promise<void>((resolve) => finish.push(resolve));
        yield* read();
      };
      return cursor;
    }) as never);
    const held = Array.from({ length: 3 }, () => service.request('/calls', { key: testKey }));
    await eventually(async () => finish.length === 3);
    expect((await service.request('/calls', { key: liveKey })).status).toBe(200);
    for (const one of finish) one();
    expect((await Promise.all(held)).map(({ status }) => status)).toEqual([200, 200, 200]);
  } finally {
    for (const one of finish) one();
    await service.close();
  }
}, 60_000);

describe('a process', () => {
  const limit = { maxRunning: 10, readTimeoutMs: 60_000 };

  /** Serves a recording that is larger than the socket buffers between the server and its client. */
  async function serve(recording: { idleTimeoutMs?: number; maxInProcess?: Record<Mode, number> }) {
    const limits = {
      read: limit,
      change: limit,
      detail: limit,
      list: limit,
      export: limit,
      recording: { ...limit, ...recording },
    };
    let passedMs = 0;
    const turns = createAccountQueues({ limits, now: () => Date.now() + passedMs });
    let accounts = 0;
    const server = createServer((req, res) => {
      const [mode = '', account = `account ${accounts++}`] = String(req.url).slice(1).split('?');
      const asker = { account: { _id: account }, mode: mode as Mode, sender: 'key' };
      const work = async () => res.end(Buffer.alloc(64 * 1_024 * 1_024));
      turns
        .run({ res, state: {} } as unknown as ApiContext, 'recording', asker, work)
        .catch(() => res.writeHead(503).end());
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    closers.push(() => (server.closeAllConnections(), server.close()));
    return {
      turns,
      pass: (ms: number) => (passedMs += ms),
      url: (mode: Mode) => `http://127.0.0.1:${port}/${mode}`,
    };
  }

  it('sends a limited number of recordings at once, and reserves some for live calls', async () => {
    const server = await serve({ maxInProcess: { live: 2, test: 1 } });
    const statuses = [];
    for (const mode of ['test', 'test', 'live', 'live'] as const) statuses.push(await askAndStall(server.url(mode)));
    expect(statuses).toEqual([200, 503, 200, 503]);
    for (const client of clients.splice(0)) client.destroy();
    await eventually(async () => server.turns.size() === 0);
    expect(await askAndStall(server.url('test'))).toBe(200);
  }, 30_000);

  it('cuts off a download that is slower than playback when another needs its slot', async () => {
    const server = await serve({ maxInProcess: { live: 2, test: 2 } });
    for (const status of [200, 200, 503]) expect(await askAndStall(server.url('test'))).toBe(status);
    server.pass(600_000);
    expect(await askAndStall(server.url('test'))).toBe(200);
    // Of two old downloads, the previous request has ended one, and this request ends the other. The downloads that are
    // then open are too new to be ended.
    expect(await askAndStall(server.url('test'))).toBe(200);
    expect(await askAndStall(server.url('test'))).toBe(503);
    await eventually(async () => server.turns.size() === 2);
  }, 30_000);

  it('shares the slots of recordings among the accounts that want them', async () => {
    const server = await serve({ maxInProcess: { live: 4, test: 4 } });
    const ask = (account: string) => askAndStall(`${server.url('test')}?${account}`);
    for (let n = 0; n < 4; n++) expect(await ask('greedy')).toBe(200);
    expect(await ask('second')).toBe(200);
    expect(await ask('third')).toBe(200);
    // An account keeps the slot that it already has. More requests do not give it more slots.
    expect(await ask('greedy')).toBe(503);
    expect(await ask('fourth')).toBe(200);
    expect(await ask('fifth')).toBe(503);
  }, 30_000);

  it('ends a download that is not read', async () => {
    const server = await serve({ idleTimeoutMs: 200 });
    expect(await askAndStall(server.url('live'))).toBe(200);
    await eventually(async () => server.turns.size() === 0, 20_000);
  }, 30_000);
});
