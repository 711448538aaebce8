import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { Readable } from 'node:stream';
import { setImmediate as nextEventLoopPass, setTimeout as pause } from 'node:timers/promises';
import { csvOf } from '../../src/billing/statements/csv.js';
import { createStatementHandlers } from '../../src/billing/statements/routes.js';
import { createStatements } from '../../src/billing/statements/statements.js';
import { ledgerAccountId, type Mode } from '../../src/kernel/ids.js';
import type { ApiContext } from '../../src/platform/http/context.js';
import { abortSignalOf } from '../../src/platform/http/deadline.js';
import { createExportSteps, inSteps } from '../../src/platform/http/routing/export-steps.js';
import { startService, type Customer, type Service } from '../support/http/harness.js';

const MODES: readonly Mode[] = ['live', 'test'];
/** An account may have two exports at once in each mode. */
const AT_ONCE = 2;
const CALLS = 1_000;

/** Adds the holds and settlements of many calls to a customer's ledger. */
async function fillLedger({ database }: Service, { account }: Customer, mode: Mode): Promise<void> {
  const id = ledgerAccountId(account._id, mode);
  const entries = Array.from({ length: CALLS }, (_, n) => {
    const common = { ledgerAccountId: id, callId: `call_${n}`, microsPerSecond: 2_500, spendDay: 1, epoch: 0 };
    const at = Date.now() - n * 1_000;
    return [
      { ...common, _id: `H${id}-${n}~0`, type: 'hold', amountMicros: 150_000, at: new Date(at) },
      {
        ...common,
        _id: `S${id}-${n}`,
        type: 'settlement',
        heldMicros: 150_000,
        billedMicros: 2_500,
        billedSeconds: 1,
        unspentMicros: 0,
        at: new Date(at + 500),
      },
    ];
  }).flat();
  for (let from = 0; from < entries.length; from += 500) {
    await database.ledgerEntries.collection.insertMany(entries.slice(from, from + 500) as never[]);
  }
}

describe('exports of five accounts', () => {
  let service: Service;
  let customers: Customer[];
  /** Ids of the reads of ledger entries that the database is working on. */
  const reading = new Set<number>();
  let mostReading = 0;

  beforeAll(async () => {
    const uri = `${process.env['TEST_MONGODB_URI']}/exports_${randomUUID()}?monitorCommands=true`;
    service = await startService({ worker: false, env: { MONGODB_URI: uri } });
    service.database.connection
      .getClient()
      .on('commandStarted', ({ command, requestId }) => {
        const name = service.database.ledgerEntries.collection.collectionName;
        if (command['find'] !== name && !(command['getMore'] && command['collection'] === name)) return;
        reading.add(requestId);
        mostReading = Math.max(mostReading, reading.size);
      })
      .on('commandSucceeded', ({ requestId }) => reading.delete(requestId))
      .on('commandFailed', ({ requestId }) => reading.delete(requestId));
    customers = await Promise.all(Array.from({ length: 5 }, () => service.customer()));
    for (const customer of customers) for (const mode of MODES) await fillLedger(service, customer, mode);
  }, 120_000);
  afterAll(() => service.close());

  /** Sends all requests that five accounts may have in progress at once. */
  async function flood(path: string): Promise<void> {
    const keys = customers.flatMap(({ liveKey, testKey }) => [liveKey, testKey]);
    const all = Array.from({ length: AT_ONCE }, () => keys).flat();
    const statuses = await Promise.all(all.map(async (key) => (await service.request(path, { key })).status));
    expect(statuses).toEqual(all.map(() => 200));
  }

  it('leave the process time for many requests of another account', async () => {
    const { liveKey: key } = await service.customer();
    await service.request('/balance', { key });
    let isOver = false;
    const flooded = flood('/ledger?format=csv').finally(() => (isOver = true));
    let served = 0;
    for (; !isOver; served++) expect((await service.request('/balance', { key })).status).toBe(200);
    await flooded;
    // Without steps, 2 or 3 requests are served in this time; with them, more than 40.
    expect(served).toBeGreaterThan(12);
  }, 60_000);

  it.each(['/ledger?format=csv', '/usage?group_by=day'])(
    'read the database a few at a time: %s',
    async (path) => {
      mostReading = 0;
      await flood(path);
      expect(mostReading).toBeGreaterThan(0);
      expect(mostReading).toBeLessThanOrEqual(3);
    },
    60_000,
  );

  describe('whose period is too long to sum up', () => {
    /** Requests the usage of an account 100 ms before the deadline. */
    function readUsage(runStep: (signal: AbortSignal, step: () => Promise<unknown>) => Promise<unknown>) {
      const [customer] = customers;
      if (customer === undefined) throw new Error('there is no customer');
      const statements = createStatements(service.database, { namesOf: async () => new Map() } as never);
      const { readUsage: handle } = createStatementHandlers({ statements } as never);
      const state = { arrivedAt: Date.now() - 14_900, minDeadlineMs: 0, runStep };
      const ctx = Object.assign(new EventEmitter(), { res: new EventEmitter(), state }) as unknown as ApiContext;
      const principal = { account: customer.account, mode: 'live' as const };
      return handle({ ctx, principal, query: { group_by: 'day' } } as never);
    }
    const tooManyCalls = {
      code: 'SERVICE_UNAVAILABLE',
      message: 'The period contains too many calls. Request a shorter period.',
    };

    it('say so if the sum is slow', async () => {
      const usage = readUsage(async (_signal, step) => {
        const rows = await step();
        await pause(150);
        return rows;
      });
      await expect(usage).rejects.toMatchObject(tooManyCalls);
    });

    it('say so if they wait for others', async () => {
      const steps = createExportSteps();
      const exporter = { account: { _id: 'other' }, mode: 'live' as const };
      const ended = new AbortController();
      const never = new Promise<void>((_resolve, reject) =>
        ended.signal.addEventListener('abort', () => reject(new Error('over'))),
      );
      const others = [1, 2].map(() => steps.run(exporter, ended.signal, () => never).catch(() => undefined));
      const usage = readUsage((signal, step) => steps.run(exporter, signal, step));
      await expect(usage).rejects.toMatchObject(tooManyCalls);
      ended.abort();
      await Promise.all(others);
    });
  });
});

describe('the steps of exports', () => {
  const exporter = (id: string, mode: Mode = 'live') => ({ account: { _id: id }, mode });
  const never = new AbortController().signal;
  const rows = Array.from({ length: 2_000 }, (_, n) => ({ name: `row ${n} ${'x'.repeat(90)}` }));
  /** A CSV of about 12 pieces as an account's export, in a log of who made a piece. */
  function exportOf(steps: ReturnType<typeof createExportSteps>, id: string, log: string[], mode?: Mode) {
    return inSteps(csvOf(['name'], rows), (step) =>
      steps.run(exporter(id, mode), never, () => {
        log.push(id);
        return step();
      }),
    );
  }
  async function consume(pieces: AsyncIterable<string>): Promise<number> {
    let count = 0;
    for await (const piece of pieces) count += Math.sign(piece.length);
    return count;
  }

  it('let the event loop turn after each piece', async () => {
    let passes = 0;
    let isOver = false;
    const count = async () => {
      for (; !isOver; passes++) await nextEventLoopPass();
    };
    const counting = count();
    const pieces = await consume(exportOf(createExportSteps(), 'a', []));
    isOver = true;
    await counting;
    expect(pieces).toBeGreaterThan(10);
    expect(passes).toBeGreaterThanOrEqual(pieces);
  });

  it('of a sixth account begin after one step of each of the others', async () => {
    const steps = createExportSteps();
    const log: string[] = [];
    const others = ['a', 'b', 'c', 'd', 'e'].flatMap((id) => [id, id]);
    const running = others.map((id) => consume(exportOf(steps, id, log)));
    for (let pass = 0; pass < 20; pass++) await nextEventLoopPass();
    const before = log.length;
    running.push(consume(exportOf(steps, 'sixth', log)));
    await Promise.all(running);
    const wait = log.indexOf('sixth') - before;
    expect(before).toBeGreaterThan(5);
    expect(wait).toBeLessThanOrEqual(5);
    // From then on it makes at least one piece of six.
    const last = log.lastIndexOf('sixth');
    expect(last - before).toBeLessThan(7 * log.filter((id) => id === 'sixth').length);
  });

  it('of test mode never take those of live mode', async () => {
    const steps = createExportSteps();
    const hanging = new AbortController();
    const stuck = ['a', 'b', 'c'].map((id) =>
      steps.run(exporter(id, 'test'), hanging.signal, () => new Promise<void>(() => undefined)).catch(() => undefined),
    );
    expect(await consume(exportOf(steps, 'a', []))).toBeGreaterThan(10);
    hanging.abort();
    await Promise.race(stuck);
  });

  it('are not taken by exports whose clients do not read', async () => {
    const steps = createExportSteps();
    const unread = ['a', 'b', 'c', 'd', 'e'].map((id) =>
      Readable.from(exportOf(steps, id, []), { objectMode: false, highWaterMark: 1 }),
    );
    await Promise.all(unread.map((stream) => once(stream, 'readable')));
    await pause(50);
    expect(await consume(exportOf(steps, 'sixth', []))).toBeGreaterThan(10);
    for (const stream of unread) stream.destroy();
  });

  it('end their wait with the request', async () => {
    const steps = createExportSteps();
    const ended = new AbortController();
    const stuck = ['a', 'b'].map((id) => steps.run(exporter(id), never, () => new Promise<void>(() => undefined)));
    const waiting = steps.run(exporter('c'), ended.signal, async () => 'done');
    ended.abort(new Error('the client is gone'));
    await expect(waiting).rejects.toThrow('the client is gone');
    expect(stuck).toHaveLength(2);
  });
});

it('signals of one response share one listener', () => {
  const res = new EventEmitter();
  const ctx = { res, state: { arrivedAt: Date.now(), minDeadlineMs: 0 } } as unknown as ApiContext;
  const signals = Array.from({ length: 12 }, () => abortSignalOf(ctx));
  expect(res.listenerCount('close')).toBe(1);
  expect(signals.some(({ aborted }) => aborted)).toBe(false);
  res.emit('close');
  expect(signals.every(({ aborted }) => aborted)).toBe(true);
});
