import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheFolder, packageRoot } from '../cache-folder.js';
import { findOnPath } from '../executables.js';
import type { Report } from '../run-command.js';
import { buildEmbeddedMongo } from './embedded-build.js';
import { downloadMongod } from './mongod-download.js';

export interface FindOptions {
  env: NodeJS.ProcessEnv;
  report: Report;
  signal?: AbortSignal | undefined;
}

/** A real mongod, or the classes of the small server that stands in for it. */
export type MongodbProgram = { kind: 'mongod'; file: string } | { kind: 'embedded'; java: string; folder: string };

/**
 * Finds a server for MongoDB's protocol, or makes one: PATH, our cache, the official download, a build.
 * @throws Error with one sentence that says what to install or to set
 */
export async function findMongodb(options: FindOptions): Promise<MongodbProgram> {
  const onPath = await findOnPath('mongod', options.env);
  if (onPath !== undefined) return { kind: 'mongod', file: onPath };
  const cache = cacheFolder(options.env);
  const folder = join(cache, `mongodb-embedded-${await sourceVersion()}`);
  const downloads = join(cache, 'mongod');
  const mongod = await downloadMongod({ ...options, downloads, unlessBuilt: folder });
  if (mongod !== undefined) return { kind: 'mongod', file: mongod };
  return { kind: 'embedded', ...(await buildEmbeddedMongo({ ...options, folder })) };
}

/** Changes with the stand-in's source, so that a changed one is built again. */
async function sourceVersion(): Promise<string> {
  const hash = createHash('sha256');
  for (const name of ['pom.xml', 'EmbeddedMongo.java']) {
    hash.update(await readFile(join(packageRoot(), 'src/launch/mongodb', name)));
  }
  return hash.digest('hex').slice(0, 12);
}
