import type { Database } from './database.js';
import { createIndexes, replaceNeedlesslyUniqueIndexes } from './platform/mongo/indexes.js';
import { migrate, type Migration } from './platform/mongo/migrations.js';

/**
 * Brings a database to the state that this release needs: migrations, then indexes. Safe to repeat, and to run in
 * several processes at once. The connection should wait for responses without a limit, because indexes take long to build.
 * @param options.onWait called if another process is running the migrations
 * @returns names of the migrations that were run
 * @throws MongoServerError of a migration or an index
 */
export async function prepareDatabase(database: Database, options: { onWait?: () => void } = {}): Promise<string[]> {
  const done = await migrate(database, migrationsOf(database), options);
  await createIndexes(database);
  return done;
}

/** All migrations. Append new ones; never change or remove one that was released. */
function migrationsOf(database: Database): Migration[] {
  return [
    {
      number: 1,
      name: 'replace unique indexes that contain _id',
      run: () => replaceNeedlesslyUniqueIndexes(database),
    },
  ];
}
