import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { isExecutable } from '../../src/dev/servers/executables.js';
import { buildGoProgram, goProgramPath, type GoProgram } from '../../src/dev/servers/go-program.js';
import { currentInterface } from './interface.js';

const RELEASED = join(__dirname, 'openapi.json');
const SEVERITIES = join(__dirname, 'severities.txt');
const OASDIFF: GoProgram = {
  label: 'oasdiff',
  name: 'oasdiff',
  version: '1.37.0',
  module: 'github.com/oasdiff/oasdiff',
  what: 'oasdiff',
  usually: 'usually 20 s',
  advice: 'Install Go 1.25 or later to build oasdiff.',
  timeoutMs: 300_000,
  flags: [],
};

interface Change {
  id: string;
  text: string;
  operation: string;
  path: string;
}

/**
 * Compares the interface with that of the last release. With `--released`, writes the interface as that of a new release
 * instead.
 * @returns the exit code: 0 if no client of the last release can fail, otherwise 1
 */
async function main(args: readonly string[]): Promise<number> {
  if (args.includes('--released')) {
    await writeFile(RELEASED, `${JSON.stringify(currentInterface(), null, 2)}\n`);
    return 0;
  }
  const report = (line: string) => void process.stderr.write(`${line}\n`);
  const built = goProgramPath(OASDIFF, process.env);
  const oasdiff = (await isExecutable(built)) ? built : await buildGoProgram(OASDIFF, { env: process.env, report });
  const folder = await mkdtemp(join(tmpdir(), 'callwright-openapi-'));
  try {
    const breaking = (document: unknown) => breakingChanges(oasdiff, join(folder, 'revision.json'), document);
    await requireFindings(breaking);
    const changes = await breaking(currentInterface());
    for (const { operation, path, text, id } of changes) report(`${operation} ${path}: ${text} (${id})`);
    report(changes.length === 0 ? 'no breaking change since the last release' : `${changes.length} breaking changes`);
    return changes.length === 0 ? 0 : 1;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function breakingChanges(oasdiff: string, file: string, document: unknown): Promise<Change[]> {
  await writeFile(file, JSON.stringify(document));
  const args = ['breaking', RELEASED, file, '--format', 'json', '--severity-levels', SEVERITIES];
  const { stdout } = await promisify(execFile)(oasdiff, args, { timeout: 60_000, maxBuffer: 64 * 1024 * 1024 });
  return JSON.parse(stdout) as Change[];
}

/** Checks that the tool sees a route that is missing, so that a tool that sees nothing cannot pass. */
async function requireFindings(breaking: (document: unknown) => Promise<Change[]>): Promise<void> {
  const released = JSON.parse(await readFile(RELEASED, 'utf8')) as { paths: Record<string, unknown> };
  delete released.paths['/outbound_call'];
  const found = await breaking(released);
  if (!found.some(({ path }) => path === '/outbound_call')) throw new Error('oasdiff does not see a missing route');
}

main(process.argv.slice(2)).then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 2;
  },
);
