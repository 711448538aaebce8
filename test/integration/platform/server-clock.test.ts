import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { openDatabase, type Database } from '../../../src/database.js';
import { createServerClock } from '../../../src/platform/mongo/server-clock.js';
import { startReplicaSetFront, type ReplicaSetFront } from '../../support/store/replica-set-front.js';

const READ_EVERY_MS = 50;
/** The machine is busy with other tests, so a reading may be late. */
const TOLERANCE_MS = 400;
const AHEAD_MS = 5_000;

describe('the clock of the database', () => {
  let front: ReplicaSetFront;
  let database: Database;
  beforeAll(async () => {
    front = await startReplicaSetFront(String(process.env.TEST_MONGODB_URI));
  });
  beforeEach(async () => {
    front.moveTo('node-1:27017', 0);
    database = await openDatabase(`${front.uri}/clock_${randomUUID().slice(0, 8)}`);
  });
  afterEach(() => database.close());
  afterAll(() => front.close());

  const newClock = () => createServerClock(database, { readEveryMs: READ_EVERY_MS });
  const expectNow = (time: number) => expect(Math.abs(time - Date.now())).toBeLessThan(TOLERANCE_MS);

  it('is that of the node that answers first', async () => {
    front.moveTo('node-1:27017', AHEAD_MS);
    const clock = newClock();
    expectNow((await clock()) - AHEAD_MS);
    await sleep(2 * READ_EVERY_MS);
    expectNow((await clock()) - AHEAD_MS);
  });

  it('does not jump when another node answers, and is the same in every process', async () => {
    const [first, second] = [newClock(), newClock()];
    expectNow(await first());
    expectNow(await second());
    front.moveTo('node-2:27017', AHEAD_MS);
    await sleep(2 * READ_EVERY_MS);
    expectNow(await first());
    expectNow(await second());
    const startedLater = newClock();
    expectNow(await startedLater());
    front.moveTo('node-1:27017', 0);
    await sleep(2 * READ_EVERY_MS);
    for (const clock of [first, second, startedLater]) expectNow(await clock());
  });

  it('takes over the clock of a node that is far off, because it must not be wrong for ever', async () => {
    const clock = newClock();
    expectNow(await clock());
    front.moveTo('node-2:27017', 60_000);
    await sleep(2 * READ_EVERY_MS);
    expectNow((await clock()) - 60_000);
    front.moveTo('node-1:27017', 0);
    await sleep(2 * READ_EVERY_MS);
    expectNow(await clock());
  });

  it('follows the node that it knows when the clock of that node is set', async () => {
    const clock = newClock();
    expectNow(await clock());
    front.moveTo('node-1:27017', AHEAD_MS);
    await sleep(2 * READ_EVERY_MS);
    expectNow((await clock()) - AHEAD_MS);
  });
});
