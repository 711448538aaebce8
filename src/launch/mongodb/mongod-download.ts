import { existsSync } from 'node:fs';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isExecutable } from '../executables.js';
import { packageRoot } from '../cache-folder.js';
import { runCommand } from '../run-command.js';
import type { FindOptions } from './find-mongodb.js';

/** Of the 8.0 line that production runs. */
const VERSION = '8.0.13';
const TIMEOUT_MS = 300_000;

/** In a process of its own: the library prints a stack trace when it fails, and keeps global state. */
const PROGRAM = `
const { MongoBinary } = require('mongodb-memory-server-core');
MongoBinary.getPath({ version: process.argv[1], downloadDir: process.argv[2] }).then(
  (path) => console.log(path),
  (error) => { console.error(String(error.message).split('\\n')[0]); process.exitCode = 1; },
);
`;

/**
 * The mongod downloaded earlier, else the official download of it.
 * @returns undefined when it cannot be had here, which is then said in one line
 */
export async function downloadMongod(
  options: FindOptions & { downloads: string; unlessBuilt: string },
): Promise<string | undefined> {
  const { downloads, env, report } = options;
  const earlier = await findDownloaded(downloads);
  if (earlier !== undefined) return earlier;
  // Data once written by the stand-in stays with it, and a machine without the download does not try at each start.
  if (existsSync(options.unlessBuilt)) return undefined;
  report('no mongod on PATH; trying the official download');
  try {
    await mkdir(downloads, { recursive: true });
    const output = await runCommand({
      what: 'downloading MongoDB',
      file: process.execPath,
      args: ['-e', PROGRAM, VERSION, downloads],
      cwd: packageRoot(),
      env: { ...env, MONGOMS_PREFER_GLOBAL_PATH: 'false' },
      timeoutMs: TIMEOUT_MS,
      report,
      signal: options.signal,
    });
    return output.trim().split('\n').at(-1);
  } catch (error) {
    if (options.signal?.aborted) throw error;
    report('the official download of MongoDB is not reachable from here; building a stand-in from Maven packages');
    return undefined;
  }
}

async function findDownloaded(downloads: string): Promise<string | undefined> {
  if (!existsSync(downloads)) return undefined;
  for (const name of await readdir(downloads)) {
    const file = join(downloads, name);
    if (name.startsWith('mongod-') && !name.endsWith('.lock') && (await isExecutable(file))) return file;
  }
  return undefined;
}
