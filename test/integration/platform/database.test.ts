import { isReplicated } from '../../../src/platform/mongo/connection.js';
import { openDatabase, type Database } from '../../../src/database.js';

describe('the topology of the MongoDB server', () => {
  it.each([
    ['a member of a replica set', { setName: 'rs0', isWritablePrimary: true }, true],
    ['a router of a sharded cluster', { msg: 'isdbgrid' }, true],
    ['a single server', { isWritablePrimary: true }, false],
    ['no response', undefined, false],
  ])('is read from its hello response: %s', (_name, hello, replicated) => {
    expect(isReplicated(hello)).toBe(replicated);
  });

  describe('decides the read and write options', () => {
    let database: Database;
    beforeAll(async () => {
      database = await openDatabase(`${process.env.TEST_MONGODB_URI}/database_test`);
    });
    afterAll(() => database.close());

    it('majority reads and writes on a replica set, neither sessions nor retries elsewhere', async () => {
      const { options } = database.connection.getClient();
      const hello = await database.connection.db?.admin().command({ isMaster: 1 });
      expect(database.replicated).toBe(isReplicated(hello));
      expect(options.retryWrites).toBe(database.replicated);
      expect(options.readConcern?.level).toBe(database.replicated ? 'majority' : undefined);
      expect(options.writeConcern?.w).toBe(database.replicated ? 'majority' : undefined);
      expect(options.readPreference.mode).toBe('primary');
    });
  });
});
