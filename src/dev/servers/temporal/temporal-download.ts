import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { tryDownload } from '../download.js';
import { isExecutable } from '../executables.js';
import type { FindOptions } from '../find-options.js';

/** Program that downloads Temporal. The library downloads only when it starts a server, so start one and stop it. */
const PROGRAM = `
const { TestWorkflowEnvironment } = require('@temporalio/testing');
const executable = { type: 'cached-download', downloadDir: process.argv[1], ttl: '10 years' };
TestWorkflowEnvironment.createLocal({ server: { executable } })
  .then((environment) => environment.teardown())
  .then(() => process.exit(0), fail);
`;

/**
 * Returns the Temporal CLI downloaded earlier, or downloads it from the official source.
 * @returns undefined when it cannot be downloaded
 */
export async function downloadTemporal(options: FindOptions & { downloads: string }): Promise<string | undefined> {
  const { downloads, env, report, signal } = options;
  const earlier = await findDownloaded(downloads);
  if (earlier !== undefined) return earlier;
  report('no Temporal CLI on PATH; trying the official download');
  const instead = 'building it with Go';
  const folder = downloads;
  const downloaded = await tryDownload({ what: 'Temporal', instead, program: PROGRAM, folder, env, report, signal });
  return downloaded ? findDownloaded(downloads) : undefined;
}

async function findDownloaded(downloads: string): Promise<string | undefined> {
  if (!existsSync(downloads)) return undefined;
  for (const name of await readdir(downloads)) {
    const file = join(downloads, name);
    if (name.startsWith('temporal-') && !name.includes('downloading') && (await isExecutable(file))) return file;
  }
  return undefined;
}
