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
    // Before the requests: some seem to have begun up to 28 s ago.
    const at = Date.now() - 60_000 - n * 1_000;
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

  describe('beside those of others', () => {
    const responses: EventEmitter[] = [];
    // Ends the timers of the requests.
    afterEach(() => responses.splice(0).forEach((res) => res.emit('close')));

    type RunStep = (signal: AbortSignal, step: () => Promise<unknown>) => Promise<unknown>;

    /** Handlers whose look-ups of agents are slow, and a request that arrived some time ago. */
    function requestOf(elapsedMs: number, runStep: RunStep) {
      const [customer] = customers;
      if (customer === undefined) throw new Error('there is no customer');
      const agents = {
        async agentsOf() {
          await pause(150);
          return new Map();
        },
        namesOf: async () => new Map(),
      };
      const handlers = createStatementHandlers({ statements: createStatements(service.database, agents) } as never);
      const state = { arrivedAt: Date.now() - elapsedMs, minDeadlineMs: 0, runStep };
      const res = new EventEmitter();
      responses.push(res);
      const ctx = { res, state, query: { format: 'csv' }, vary: () => undefined };
      const principal = { account: customer.account, mode: 'live' as const };
      return { handlers, ctx: ctx as unknown as ApiContext, principal };
    }
    function readUsage(elapsedMs: number, groupBy: 'agent' | 'day', runStep: RunStep) {
      const { handlers, ...request } = requestOf(elapsedMs, runStep);
      const ctx = { ...request.ctx, query: { format: 'json' } };
      return handlers.readUsage({ ...request, ctx, query: { group_by: groupBy } } as never);
    }

    /** Steps that all slots run for others until `end` is called, which happens after a time by itself. */
    function occupied(ms: number) {
      const steps = createExportSteps();
      const other = { account: { _id: 'other' }, mode: 'live' as const };
      const ended = new AbortController();
      const until = pause(ms, undefined, { signal: ended.signal }).catch(() => undefined);
      const all = [1, 2].map(() => steps.run(other, ended.signal, () => until));
      const runStep: RunStep = (signal, step) => steps.run({ account: { _id: 'own' }, mode: 'live' }, signal, step);
      return {
        runStep,
        async end() {
          ended.abort();
          await Promise.all(all);
        },
      };
    }

    it('a period is too long if its sum takes 15 s', async () => {
      await expect(readUsage(14_900, 'agent', (_signal, step) => step())).rejects.toMatchObject({
        code: 'SERVICE_UNAVAILABLE',
        message: 'The period contains too many calls. Request a shorter period.',
      });
    });

    it('a sum has its 15 s whatever it waits for the steps of others', async () => {
      const others = occupied(5_000);
      const usage = await readUsage(11_000, 'day', others.runStep);
      await others.end();
      expect(usage).toMatchObject({ total: { calls: CALLS } });
    });

    it('a sum does not wait for others for ever', async () => {
      const others = occupied(5_000);
      await expect(readUsage(27_900, 'day', others.runStep)).rejects.toMatchObject({
        code: 'SERVICE_UNAVAILABLE',
        message: 'The service is temporarily unavailable. Retry shortly.',
      });
      await others.end();
    });

    it('an export begins although it waited for the steps of others', async () => {
      const others = occupied(2_500);
      const { handlers, ctx, principal } = requestOf(0, others.runStep);
      const csv = await handlers.readLedger({ ctx, principal, query: {} } as never);
      await others.end();
      const { body } = csv as { body: Readable };
      let text = '';
      for await (const chunk of body) text += String(chunk);
      expect(text.split('\r\n').length).toBeGreaterThan(2 * CALLS);
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
    const log: string[] = [];
    // Each piece takes the same time, also on a busy machine.
    const steps = createExportSteps({ now: () => log.length });
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

  it('of an account with short ones are not delayed by the long ones of others', async () => {
    let time = 0;
    const steps = createExportSteps({ now: () => time });
    const log: string[] = [];
    /** Runs steps one after the other. Each takes the same time. */
    async function run(id: string, count: number, ms: number): Promise<void> {
      for (let n = 0; n < count; n++) {
        await steps.run(exporter(id), never, async () => {
          log.push(id);
          await nextEventLoopPass();
          time += ms;
        });
      }
    }
    const others = ['a', 'b', 'c', 'd', 'e'].flatMap((id) => [run(id, 100, 300), run(id, 100, 300)]);
    for (let pass = 0; pass < 50; pass++) await nextEventLoopPass();
    const before = log.length;
    await run('sixth', 20, 10);
    const between = log.slice(before).filter((id) => id !== 'sixth').length;
    await Promise.all(others);
    // By turns, each of the 20 steps would wait for one of each of the five accounts.
    expect(before).toBeGreaterThan(5);
    expect(between).toBeLessThanOrEqual(60);
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
