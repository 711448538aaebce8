import { openDatabase, type Database } from '../../../src/database.js';
import { createLimitStore } from '../../../src/platform/http/rate-limits/limit-store.js';
import { pingMongodb } from '../../../src/platform/mongo/connection.js';
import { createIndexes } from '../../../src/platform/mongo/indexes.js';
import { watchDependencies } from '../../../src/platform/telemetry/dependency-watch.js';
import { createLogger } from '../../../src/platform/telemetry/logger.js';
import { observe, type Measurements } from '../../../src/platform/telemetry/measurements.js';

import { eventually } from '../../support/http/harness.js';
import { startGate } from '../voice/support/gate.js';

let database: Database;
let reported: Measurements['databaseCommand'][];
let forget: () => void;

/** The driver emits commands only if somebody observes them when the connection is opened. */
beforeAll(async () => {
  forget = observe('databaseCommand', (command) => reported.push(command));
  reported = [];
  database = await openDatabase(`${process.env.TEST_MONGODB_URI}/database_metrics_test`);
  await createIndexes(database);
});
beforeEach(() => (reported = []));
afterAll(async () => {
  forget();
  await database.connection.dropDatabase();
  await database.close();
});

const outcomes = () => reported.map(({ command, outcome }) => `${command} ${outcome}`);

it('a rate limit that begins a new window meets the last one, which is a conflict and no failure', async () => {
  await database.rateLimits.collection.insertOne({ key: 'old', points: 1, expire: new Date(Date.now() - 1_000) });
  await createLimitStore(database, 60).join('old', 1, true);
  expect(outcomes()).toEqual(['insert ok', 'findAndModify conflict', 'findAndModify ok']);
});

it('a command that the server does not accept has failed', async () => {
  await expect(database.connection.db!.command({ noSuchCommand: 1 })).rejects.toThrow(/./);
  expect(outcomes()).toEqual(['noSuchCommand failed']);
});

it('a server that is gone fails no command, and is reported as a dependency that does not respond', async () => {
  const gate = await startGate((process.env.TEST_MONGODB_URI ?? '').replace('mongodb://', ''));
  const remote = await openDatabase(`mongodb://${gate.address}/database_metrics_test`, { waitMs: 1_500 });
  const states: boolean[] = [];
  const forgetStates = observe(
    'dependency',
    ({ dependency, up }) => void (dependency === 'mongodb' && states.push(up)),
  );
  const watch = watchDependencies({
    checks: { mongodb: () => pingMongodb(remote) },
    logger: createLogger({ role: 'test', level: 'silent' }),
    everyMs: 100,
  });
  try {
    await eventually(async () => states.at(-1) === true);
    gate.shut();
    await eventually(async () => states.at(-1) === false);
    reported = [];
    await expect(remote.rateLimits.findOne({ key: 'any' })).rejects.toThrow(/connect|closed|ECONN|select/i);
    expect(outcomes()).toEqual([]);
    gate.open();
    await eventually(async () => states.at(-1) === true);
  } finally {
    forgetStates();
    await watch.close();
    await remote.close();
    await gate.close();
  }
}, 60_000);
