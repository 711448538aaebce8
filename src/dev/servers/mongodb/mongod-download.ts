import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { tryDownload } from '../download.js';
import { isExecutable } from '../executables.js';
import type { FindOptions } from '../find-options.js';

/** A version of the 8.0 series, the one used in production. */
const VERSION = '8.0.13';

const PROGRAM = `
const { MongoBinary } = require('mongodb-memory-server-core');
const options = { version: '${VERSION}', downloadDir: process.argv[1] };
MongoBinary.getPath(options).then(() => process.exit(0), fail);
`;

/**
 * Returns the mongod downloaded earlier, or downloads it from the official source.
 * @returns undefined when it cannot be downloaded
 */
export async function downloadMongod(
  options: FindOptions & { downloads: string; unlessBuilt: string },
): Promise<string | undefined> {
  const { downloads, env, report, signal } = options;
  const earlier = await findDownloaded(downloads);
  if (earlier !== undefined) return earlier;
  // If the embedded replacement of mongod exists, an earlier download has failed: do not retry it at each start.
  if (existsSync(options.unlessBuilt)) return undefined;
  report('no mongod on PATH; trying the official download');
  const downloaded = await tryDownload({
    what: 'MongoDB',
    instead: 'building a stand-in from Maven packages',
    program: PROGRAM,
    folder: downloads,
    env: { ...env, MONGOMS_PREFER_GLOBAL_PATH: 'false' },
    report,
    signal,
  });
  return downloaded ? findDownloaded(downloads) : undefined;
}

async function findDownloaded(downloads: string): Promise<string | undefined> {
  if (!existsSync(downloads)) return undefined;
  for (const name of await readdir(downloads)) {
    const file = join(downloads, name);
    if (/^mongod-.*\d$/.test(name) && (await isExecutable(file))) return file;
  }
  return undefined;
}
