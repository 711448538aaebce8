import { mkdir } from 'node:fs/promises';
import { packageRoot } from './cache-folder.js';
import { runCommand, type Report } from '../processes/run-command.js';

const TIMEOUT_MS = 600_000;

/** Without internet access a connection may hang for minutes. With access, the first bytes arrive within this time. */
const FIRST_BYTES_TIMEOUT_MS = 15_000;

const COMMON = `
const fail = (error) => { console.log(String(error?.message ?? error).split('\\n')[0]); process.exit(1); };
const { readdirSync, statSync } = require('node:fs');
setTimeout(() => {
  const files = readdirSync(process.argv[1], { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  if (files.every((file) => statSync(file.parentPath + '/' + file.name).size < 1000)) fail('no answer');
}, ${FIRST_BYTES_TIMEOUT_MS}).unref();
`;

/**
 * Runs a library's download in a separate process, because libraries print stack traces on failure and keep global
 * state.
 * @param p.program JavaScript that downloads into the folder `process.argv[1]` and calls `fail(error)` on failure
 * @returns false when the download failed, after reporting the reason in one line
 */
export async function tryDownload(p: {
  what: string;
  instead: string;
  program: string;
  folder: string;
  env: NodeJS.ProcessEnv;
  report: Report;
  signal?: AbortSignal | undefined;
}): Promise<boolean> {
  await mkdir(p.folder, { recursive: true });
  try {
    await runCommand({
      what: `downloading ${p.what}`,
      file: process.execPath,
      args: ['-e', COMMON + p.program, p.folder],
      cwd: packageRoot(),
      env: p.env,
      timeoutMs: TIMEOUT_MS,
      report: p.report,
      signal: p.signal,
    });
    return true;
  } catch (error) {
    if (p.signal?.aborted) throw error;
    p.report(`the official download of ${p.what} failed (${reasonOf(error)}); ${p.instead}`);
    return false;
  }
}

/** Returns the reason, which is the last line of the output. The library's messages come before it. */
function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return (message.split(/ \| | failed: /).at(-1) ?? '').slice(0, 200);
}
