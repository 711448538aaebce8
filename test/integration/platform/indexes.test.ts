import { randomUUID } from 'node:crypto';
import { openDatabase, type Database } from '../../../src/database.js';
import { prepareDatabase } from '../../../src/prepare-database.js';
import { openTestDatabase } from '../../support/store/test-database.js';
import { startReplicaSetFront, type ReplicaSetFront } from '../../support/store/replica-set-front.js';

/** The unique indexes of a collection, by their fields. */
async function uniqueIndexes(database: Database, collection: string): Promise<string[]> {
  const client = database.connection.getClient();
  const indexes = await client.db(database.connection.name).collection(collection).listIndexes().toArray();
  return indexes.flatMap(({ unique, key }) => (unique === true ? [Object.keys(key as object).join(' ')] : []));
}

const CHANGES = new Set(['createIndexes', 'dropIndexes']);
const LIST = 'accountId mode createdAt _id';

describe('the indexes on the embedded server', () => {
  it('are only those that reject a duplicate, because it uses no others', async () => {
    const database = await openTestDatabase('indexes');
    try {
      expect(await uniqueIndexes(database, 'calls')).toEqual([]);
      expect(await uniqueIndexes(database, 'webhook_attempts')).toEqual(['callId number']);
    } finally {
      await database.close();
    }
  });
});

describe('the indexes on a real server', () => {
  let front: ReplicaSetFront;
  let database: Database;
  const name = `indexes_${randomUUID().slice(0, 8)}`;
  beforeAll(async () => {
    front = await startReplicaSetFront(String(process.env.TEST_MONGODB_URI));
    database = await openDatabase(`${front.uri}/${name}`);
  });
  afterAll(async () => {
    await database.close();
    await front.close();
  });

  it('of an earlier release lose a uniqueness that hinders sharding, and are built again', async () => {
    // Of one collection only: the stand-in for MongoDB forgets all indexes that have the name of a dropped one.
    const { calls } = database;
    await calls.collection.createIndex({ accountId: 1, mode: 1, createdAt: -1, _id: 1 }, { unique: true });
    expect(await uniqueIndexes(database, 'calls')).toEqual([LIST]);

    expect(await prepareDatabase(database)).toEqual(['replace unique indexes that contain _id']);
    for (const { collection } of Object.values(database.connection.models)) {
      const unique = await uniqueIndexes(database, collection.collectionName);
      expect(unique.filter((fields) => fields.split(' ').includes('_id'))).toEqual([]);
    }
    const indexes = await calls.collection.listIndexes().toArray();
    expect(indexes.filter(({ key }) => Object.keys(key as object).join(' ') === LIST)).toMatchObject([
      { name: 'by_accountId_mode_createdAt__id' },
    ]);
    // The new index is there before the other one is dropped.
    const changes = front.commands.filter(
      ({ name: command, collection }) => collection === 'calls' && CHANGES.has(command),
    );
    expect(changes.map(({ name: command }) => command)).toEqual([
      'createIndexes',
      'createIndexes',
      'dropIndexes',
      'createIndexes',
    ]);
  });

  it('stay unique where two documents must not have the same values', async () => {
    await prepareDatabase(database);
    expect(await uniqueIndexes(database, 'webhook_attempts')).toEqual(['callId number']);
    const models = Object.values(database.connection.models);
    const unique = await Promise.all(
      models.map(async ({ collection: { collectionName } }) =>
        (await uniqueIndexes(database, collectionName)).map((fields) => `${collectionName}: ${fields}`),
      ),
    );
    expect(unique.flat().toSorted()).toMatchInlineSnapshot(`
[
  "api_keys: keyId",
  "carrier_bindings: carrierSid",
  "invitations: invitationId",
  "rate_limits: key",
  "users: email",
  "webhook_attempts: callId number",
]
`);
  });

  it('and migrations of a later release stay when an earlier one is set up after going back to it', async () => {
    const { calls, migrations } = database;
    await prepareDatabase(database);
    await migrations.create({ _id: '99', name: 'of a later release', finishedAt: new Date() });
    await calls.collection.createIndex({ newField: 1 }, { unique: true, sparse: true });
    expect(await prepareDatabase(database)).toEqual([]);
    expect(await migrations.exists({ _id: '99' })).not.toBeNull();
    expect(await uniqueIndexes(database, 'calls')).toEqual(['newField']);
    await calls.collection.dropIndex('newField_1');
  });

  it('can be prepared again and again, also by two processes at once', async () => {
    await database.migrations.deleteMany({ _id: { $ne: 'lock' } });
    await database.agents.collection.createIndex({ accountId: 1, createdAt: -1, _id: 1 }, { unique: true });
    const both = await Promise.all([prepareDatabase(database), prepareDatabase(database)]);
    expect(both.flat()).toEqual(['replace unique indexes that contain _id']);
    expect((await uniqueIndexes(database, 'agents')).filter((fields) => fields.includes('_id'))).toEqual([]);
    const [first, second] = await Promise.all([prepareDatabase(database), prepareDatabase(database)]);
    expect([...first, ...second]).toEqual([]);
  });
});
