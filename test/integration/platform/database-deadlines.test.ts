import { openDatabase, type Database } from '../../../src/database.js';
import { startStoreLink, type StoreLink } from '../../support/store/store-link.js';

/** More operations than the connections of the pool. */
const OPERATIONS = 6;
const POOL_SIZE = 2;

describe('operations on a database that has stopped answering', () => {
  let link: StoreLink;
  let database: Database;
  beforeAll(async () => {
    link = await startStoreLink(String(process.env.TEST_MONGODB_URI));
    database = await openDatabase(link.uri('deadlines'), { responseTimeoutMs: 500, poolSize: POOL_SIZE });
    await database.accounts.findById('warm-up').lean();
  });
  afterAll(async () => {
    link.repair();
    await database.close();
    await link.close();
  });

  it('fail in time, also those that wait for a connection', async () => {
    link.hold();
    const began = performance.now();
    const outcomes = await Promise.allSettled(
      Array.from({ length: OPERATIONS }, () => database.accounts.findById('account').lean()),
    );
    expect(outcomes.map(({ status }) => status)).toEqual(Array.from({ length: OPERATIONS }, () => 'rejected'));
    // Waiting for a connection may take 4 s, and the response half a second, both once more when the driver retries.
    expect(performance.now() - began).toBeLessThan(10_000);
  });

  it('work again soon after it answers', async () => {
    link.repair();
    const deadline = Date.now() + 15_000;
    const read = (): Promise<unknown> =>
      database.accounts
        .findById('account')
        .lean()
        .catch((error: unknown) => {
          if (Date.now() > deadline) throw error;
          return read();
        });
    expect(await read()).toBeNull();
  });
});

describe('the connection', () => {
  it('has a limit for each wait, unless the caller expects a long one', async () => {
    const uri = `${process.env.TEST_MONGODB_URI}/deadlines`;
    const [usual, patient] = await Promise.all([openDatabase(uri), openDatabase(uri, { responseTimeoutMs: 0 })]);
    try {
      expect(usual.connection.getClient().options).toMatchObject({
        serverSelectionTimeoutMS: 4_000,
        connectTimeoutMS: 4_000,
        waitQueueTimeoutMS: 4_000,
        socketTimeoutMS: 10_000,
      });
      expect(patient.connection.getClient().options).toMatchObject({ waitQueueTimeoutMS: 4_000, socketTimeoutMS: 0 });
    } finally {
      await Promise.all([usual.close(), patient.close()]);
    }
  });
});
