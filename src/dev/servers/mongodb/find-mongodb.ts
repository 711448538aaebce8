import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheFolder, packageRoot } from '../cache-folder.js';
import { findOnPath } from '../executables.js';
import type { FindOptions } from '../find-options.js';
import { buildEmbeddedMongo, SOURCES } from './embedded-build.js';
import { downloadMongod } from './mongod-download.js';

/** A real mongod, or the Java classes of the embedded replacement. */
export type MongodbProgram = { kind: 'mongod'; file: string } | { kind: 'embedded'; java: string; folder: string };

/**
 * Finds or builds a MongoDB server: on PATH, in the cache, by official download, or by building the embedded
 * replacement. Existing data decides the kind of server, since neither can read the other's files.
 * @throws Error with one sentence that says what to install or configure
 */
export async function findMongodb(options: FindOptions & { dataFolder: string }): Promise<MongodbProgram> {
  const cache = cacheFolder(options.env);
  const folder = join(cache, `mongodb-embedded-${await sourceVersion()}`);
  const writer = writerOf(options.dataFolder);
  if (writer !== 'embedded') {
    const onPath = await findOnPath('mongod', options.env);
    if (onPath !== undefined) return { kind: 'mongod', file: onPath };
    const mongod = await downloadMongod({ ...options, downloads: join(cache, 'mongod'), unlessBuilt: folder });
    if (mongod !== undefined) return { kind: 'mongod', file: mongod };
  }
  if (writer === 'mongod') {
    throw new Error(
      `${options.dataFolder} was written by mongod, which was not found. Put mongod on PATH again, or run npm run reset.`,
    );
  }
  return { kind: 'embedded', ...(await buildEmbeddedMongo({ ...options, folder })) };
}

function writerOf(dataFolder: string): MongodbProgram['kind'] | undefined {
  if (existsSync(join(dataFolder, 'data.mv'))) return 'embedded';
  if (existsSync(join(dataFolder, 'WiredTiger'))) return 'mongod';
  return undefined;
}

/** Returns a hash of the embedded replacement's source, so that it is rebuilt when the source changes. */
async function sourceVersion(): Promise<string> {
  const hash = createHash('sha256');
  for (const name of ['pom.xml', ...SOURCES]) {
    hash.update(await readFile(join(packageRoot(), 'src/dev/servers/mongodb', name)));
  }
  return hash.digest('hex').slice(0, 12);
}
