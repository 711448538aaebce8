import { openDatabase, type Database } from '../../../src/database.js';
import { pingMongodb } from '../../../src/platform/mongo/connection.js';
import { watchDependencies } from '../../../src/platform/telemetry/dependency-watch.js';
import { createLogger } from '../../../src/platform/telemetry/logger.js';
import { observe } from '../../../src/platform/telemetry/measurements.js';
import { createMetrics, type Metrics } from '../../../src/platform/telemetry/metrics/metrics.js';
import { eventually } from '../../support/http/harness.js';
import { startStoreLink, type StoreLink } from '../../support/store/store-link.js';

const logger = createLogger({ role: 'test', level: 'silent' });

let link: StoreLink;
let metrics: Metrics;
let database: Database;

/** A database is observed only if somebody does when it is opened. */
beforeEach(async () => {
  metrics = createMetrics({ role: 'test', logger });
  link = await startStoreLink(String(process.env.TEST_MONGODB_URI));
  database = await open();
});
afterEach(async () => {
  link.repair();
  await database.close();
  await link.close();
  metrics.close();
});

const open = (options: Parameters<typeof openDatabase>[1] = {}) =>
  openDatabase(link.uri('database_metrics_test'), { waitMs: 1_500, ...options });

/** Opens the database with other options, then withholds all responses. */
async function holdWith(options: Parameters<typeof openDatabase>[1]): Promise<void> {
  await database.close();
  database = await open(options);
  await read();
  link.hold();
}

const read = (id = 'any') => database.accounts.findById(id).lean();

const isRead = () =>
  read().then(
    () => true,
    () => false,
  );
/** Until both ends know that a connection is broken. */
const pause = () => new Promise((resolve) => setTimeout(resolve, 200));

/** The values of a metric by their labels. */
async function valuesOf(name: string): Promise<Record<string, number>> {
  const lines = (await metrics.registry.metrics())
    .split('\n')
    .filter((line) => line.startsWith(`callwright_mongodb_${name}`));
  return Object.fromEntries(
    lines.map((line) => [/"(\w+)"/.exec(line)?.[1] ?? '', Number(line.slice(line.lastIndexOf(' ') + 1))]),
  );
}

const countOf = async (name: string) => (await valuesOf(`${name}_count`))[''] ?? NaN;
const connections = () => valuesOf('connections');

/** The reasons of failures so far. */
async function failures(): Promise<string[]> {
  const counts = Object.entries(await valuesOf('failures_total'));
  return counts.filter(([, count]) => count > 0).map(([reason]) => reason);
}

it('each command has a duration and a wait, also one that the server does not accept', async () => {
  const before = [await countOf('command_duration_seconds'), await countOf('connection_wait_seconds')];
  await read();
  await expect(database.connection.db!.command({ noSuchCommand: 1 })).rejects.toThrow(/./);
  expect([await countOf('command_duration_seconds'), await countOf('connection_wait_seconds')]).toEqual(
    before.map((count) => count + 2),
  );
  expect(await failures()).toEqual([]);
});

it('a duration lasts until the response', async () => {
  const durations: number[] = [];
  const forget = observe('databaseCommand', ({ seconds }) => durations.push(seconds));
  await holdWith({ responseTimeoutMs: 700 });
  await expect(read()).rejects.toThrow(/./);
  forget();
  expect(Math.max(...durations)).toBeGreaterThan(0.65);
  expect(await failures()).toContain('lost');
});

it('a connection is in use while its command has no response, and no connection is left after the end', async () => {
  await Promise.all(Array.from({ length: 3 }, () => read()));
  const { open: opened = 0 } = await connections();
  expect(await connections()).toEqual({ open: opened, in_use: 0 });
  link.hold();
  const waiting = Promise.allSettled([read(), read()]);
  await eventually(async () => (await connections())['in_use'] === 2, 5_000);
  expect((await connections())['open']).toBeGreaterThanOrEqual(2);
  await database.close();
  await waiting;
  expect(await connections()).toEqual({ open: 0, in_use: 0 });
});

it('a command that finds no free connection has waited, and says so', async () => {
  await holdWith({ poolSize: 1, responseTimeoutMs: 5_000 });
  const waits: number[] = [];
  const forget = observe('databaseWait', ({ seconds }) => waits.push(seconds));
  await Promise.allSettled([read('a'), read('b')]);
  forget();
  expect(await failures()).toContain('no_free_connection');
  expect(Math.max(...waits)).toBeGreaterThanOrEqual(3.9);
}, 30_000);

it('a connection that breaks under a command is lost; one that breaks while idle is replaced', async () => {
  await read();
  link.hold();
  const reading = Promise.allSettled([read()]);
  await eventually(async () => (await connections())['in_use'] === 1, 5_000);
  link.breakAll();
  await reading;
  expect(await failures()).toContain('lost');

  link.repair();
  await eventually(isRead);
  const { lost } = await valuesOf('failures_total');
  await pause();
  link.breakAll();
  link.repair();
  await pause();
  await eventually(isRead);
  expect((await valuesOf('failures_total'))['lost']).toBe(lost);
}, 30_000);

it('a command that finds no server is reported as a dependency that does not respond', async () => {
  const states: boolean[] = [];
  const forget = observe('dependency', ({ dependency, up }) => void (dependency === 'mongodb' && states.push(up)));
  const watch = watchDependencies({ checks: { mongodb: () => pingMongodb(database) }, logger, everyMs: 100 });
  try {
    await eventually(async () => states.at(-1) === true);
    link.breakAll();
    await eventually(async () => states.at(-1) === false);
    await expect(read()).rejects.toThrow(/connect|closed|ECONN|select/i);
    expect(await failures()).toContain('pool_cleared');
    link.repair();
    await eventually(async () => states.at(-1) === true);
  } finally {
    forget();
    await watch.close();
  }
}, 60_000);

it('the driver decodes each response once, because it emits no events of commands', () => {
  expect(database.connection.getClient().options.monitorCommands).toBe(false);
});

it('an unobserved database is not watched', async () => {
  metrics.close();
  const unwatched = await open();
  expect(unwatched.connection.getClient().listenerCount('connectionCheckedOut')).toBe(0);
  await unwatched.close();
});
