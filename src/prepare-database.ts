import type { Database } from './database.js';
import { createIndexes, dropNeedlesslyUniqueIndexes } from './platform/mongo/indexes.js';
import { migrate, type Migration } from './platform/mongo/migrations.js';

/**
 * Brings a database to the state that this release needs: migrations, then indexes. Safe to repeat, and to run in
 * several processes at once. The connection should wait for responses without a limit, because indexes take long to build.
 * @returns names of the migrations that were run
 * @throws MongoServerError of a migration or an index
 */
export async function prepareDatabase(database: Database): Promise<string[]> {
  const done = await migrate(database, migrationsOf(database));
  await createIndexes(database);
  return done;
}

/** All migrations. Append new ones; never change or remove one that was released. */
function migrationsOf(database: Database): Migration[] {
  return [
    {
      number: 1,
      name: 'drop unique indexes that contain _id',
      run: () => dropNeedlesslyUniqueIndexes(database),
    },
  ];
}
