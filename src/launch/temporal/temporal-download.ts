import { existsSync } from 'node:fs';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { packageRoot } from '../cache-folder.js';
import { isExecutable } from '../executables.js';
import { runCommand } from '../run-command.js';
import type { FindOptions } from './find-temporal.js';

const TIMEOUT_MS = 300_000;

/**
 * The library downloads only as a part of starting a server; so one is started and ended at once. In a process of its own:
 * the library is heavy, and native code may write what it likes.
 */
const PROGRAM = `
const { TestWorkflowEnvironment } = require('@temporalio/testing');
const executable = { type: 'cached-download', downloadDir: process.argv[1] };
TestWorkflowEnvironment.createLocal({ server: { executable } }).then(
  async (environment) => { await environment.teardown(); process.exit(0); },
  (error) => { console.error(String(error.message).split('\\n')[0]); process.exit(1); },
);
`;

/** @returns the path of the CLI, or undefined when it cannot be had here, which is then said in one line */
export async function downloadTemporal(options: FindOptions & { downloads: string }): Promise<string | undefined> {
  const { downloads, env, report, signal } = options;
  report('no Temporal CLI on PATH; trying the official download');
  try {
    await mkdir(downloads, { recursive: true });
    await runCommand({
      what: 'downloading Temporal',
      file: process.execPath,
      args: ['-e', PROGRAM, downloads],
      cwd: packageRoot(),
      env,
      timeoutMs: TIMEOUT_MS,
      report,
      signal,
    });
    return await findDownloadedTemporal(downloads);
  } catch (error) {
    if (signal?.aborted) throw error;
    report('the official download of Temporal is not reachable from here; building it with Go');
    return undefined;
  }
}

export async function findDownloadedTemporal(downloads: string): Promise<string | undefined> {
  if (!existsSync(downloads)) return undefined;
  for (const name of await readdir(downloads)) {
    const file = join(downloads, name);
    if (name.startsWith('temporal-') && !name.includes('downloading') && (await isExecutable(file))) return file;
  }
  return undefined;
}
