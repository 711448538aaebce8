import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheFolder, packageRoot } from '../cache-folder.js';
import { findOnPath } from '../executables.js';
import type { FindOptions } from '../find-options.js';
import { buildEmbeddedMongo } from './embedded-build.js';
import { downloadMongod } from './mongod-download.js';

/** A real mongod, or the classes of the small server that stands in for it. */
export type MongodbProgram = { kind: 'mongod'; file: string } | { kind: 'embedded'; java: string; folder: string };

/**
 * Finds a server for MongoDB's protocol, or makes one: PATH, our cache, the official download, a build. Data that one kind
 * of server has written stays with that kind, which the other cannot read.
 * @throws Error with one sentence that says what to install or to set
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
      `${options.dataFolder} was written by mongod, which is gone. Put it on PATH again, or reset the data.`,
    );
  }
  return { kind: 'embedded', ...(await buildEmbeddedMongo({ ...options, folder })) };
}

function writerOf(dataFolder: string): MongodbProgram['kind'] | undefined {
  if (existsSync(join(dataFolder, 'data.mv'))) return 'embedded';
  if (existsSync(join(dataFolder, 'WiredTiger'))) return 'mongod';
  return undefined;
}

/** Changes with the stand-in's source, so that a changed one is built again. */
async function sourceVersion(): Promise<string> {
  const hash = createHash('sha256');
  for (const name of ['pom.xml', 'EmbeddedMongo.java']) {
    hash.update(await readFile(join(packageRoot(), 'src/dev/servers/mongodb', name)));
  }
  return hash.digest('hex').slice(0, 12);
}
