import { openDatabase, type Database } from '../../../src/database.js';
import { migrate, type Migration } from '../../../src/platform/mongo/migrations.js';
import { openTestDatabase } from '../../support/store/test-database.js';

describe('the migrations of a database', () => {
  let database: Database;
  let other: Database;
  const ran: string[] = [];
  beforeAll(async () => {
    database = await openTestDatabase('migrations');
    other = await openDatabase(`${process.env.TEST_MONGODB_URI}/${database.connection.name}`);
  });
  beforeEach(async () => {
    ran.length = 0;
    await database.migrations.deleteMany({});
  });
  afterAll(async () => {
    await Promise.all([database.close(), other.close()]);
  });

  const migration = (number: number, run: () => Promise<void> = async () => undefined): Migration => ({
    number,
    name: `migration ${number}`,
    async run() {
      ran.push(`begin ${number}`);
      await run();
      ran.push(`end ${number}`);
    },
  });
  const pause = (ms: number) => new Promise<void>((resolve) => void setTimeout(resolve, ms));

  it('run once each, in order, and later only the new ones', async () => {
    expect(await migrate(database, [migration(1), migration(2)])).toEqual(['migration 1', 'migration 2']);
    expect(await migrate(database, [migration(1), migration(2)])).toEqual([]);
    expect(await migrate(database, [migration(1), migration(2), migration(3)])).toEqual(['migration 3']);
    expect(ran).toEqual([1, 2, 3].flatMap((number) => [`begin ${number}`, `end ${number}`]));
    expect(await database.migrations.findById('3').lean()).toMatchObject({ name: 'migration 3' });
  });

  it('run in one process at a time', async () => {
    const slow = () => [migration(1, () => pause(300)), migration(2)];
    const [first, second] = await Promise.all([
      migrate(database, slow(), { retryMs: 20 }),
      migrate(other, slow(), { retryMs: 20 }),
    ]);
    expect([...first, ...second].toSorted()).toEqual(['migration 1', 'migration 2']);
    expect(ran).toEqual(['begin 1', 'end 1', 'begin 2', 'end 2']);
  });

  it('keep their lock for as long as they run', async () => {
    const times = { lockedMs: 200, retryMs: 20 };
    const slow = () => [migration(1, () => pause(900))];
    const [first, second] = await Promise.all([migrate(database, slow(), times), migrate(other, slow(), times)]);
    expect([...first, ...second]).toEqual(['migration 1']);
    expect(ran).toEqual(['begin 1', 'end 1']);
  });

  it('are not recorded if they fail, and free the lock', async () => {
    const failing = migration(2, () => Promise.reject(new Error('disk full')));
    await expect(migrate(database, [migration(1), failing, migration(3)])).rejects.toThrow('disk full');
    expect(await migrate(other, [migration(1), migration(2), migration(3)])).toEqual(['migration 2', 'migration 3']);
  });

  it('continue after the process that ran them has died', async () => {
    const lockedUntil = new Date(Date.now() + 400);
    await database.migrations.create({ _id: 'lock', owner: 'a process that died', lockedUntil });
    expect(await migrate(database, [migration(1)], { retryMs: 20 })).toEqual(['migration 1']);
    expect(Date.now()).toBeGreaterThanOrEqual(lockedUntil.getTime() - 100);
  });
});
