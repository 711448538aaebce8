import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cacheFolder } from '../../src/dev/servers/cache-folder.js';
import type { Part } from './parts.js';

const run = promisify(execFile);
const INSTALL_WITHIN_MS = 300_000;

/** The result of a part. */
export interface Outcome {
  cases: number;
  failed: boolean;
  seconds: number;
  /** The complete output of Schemathesis. */
  output: string;
}

/**
 * Installs Schemathesis in a separate virtual environment, once for each list of versions.
 * @returns the command that runs Schemathesis
 * @throws Error if Python 3 or the package index is not available
 */
export async function installSchemathesis(env: NodeJS.ProcessEnv): Promise<string> {
  const requirements = join(__dirname, 'requirements.txt');
  const fingerprint = createHash('sha256')
    .update(await readFile(requirements))
    .digest('hex')
    .slice(0, 16);
  const folder = join(cacheFolder(env), `schemathesis-${fingerprint}`);
  const command = join(folder, 'bin', 'schemathesis');
  if (existsSync(join(folder, 'complete'))) return command;
  await rm(folder, { recursive: true, force: true });
  await run('python3', ['-m', 'venv', folder], { timeout: INSTALL_WITHIN_MS });
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-deps', '-r', requirements];
  await run(join(folder, 'bin', 'python3'), pip, { timeout: INSTALL_WITHIN_MS });
  await mkdir(join(folder, 'complete'));
  return command;
}

/** Runs one part until it ends or reaches its time limit. A part that reaches its limit fails. */
export async function runPart(p: {
  command: string;
  part: Part;
  baseUrl: string;
  seed: number;
  examples: number;
  withinMs: number;
  /** The environment of Schemathesis and of `hooks.py`. */
  env: NodeJS.ProcessEnv;
  folder: string;
  signal: AbortSignal;
}): Promise<Outcome> {
  const { part, env } = p;
  const began = Date.now();
  const report = join(p.folder, `${part.name}.json`);
  const config = join(p.folder, `${part.name}.toml`);
  const hooks = `hooks = ${JSON.stringify(join(__dirname, 'hooks.py'))}\n`;
  // An API key works in its own mode only. A request for the other mode is rejected before any other check.
  const mode = part.mode === undefined ? '' : `\n[parameters]\n"query.mode" = "${part.mode}"\n`;
  await writeFile(config, hooks + (await readFile(join(__dirname, 'schemathesis.toml'), 'utf8')) + mode);
  const child = spawn(
    p.command,
    [
      ['--config-file', config, 'run', `${p.baseUrl}/openapi.json`, '--url', p.baseUrl],
      ['--seed', String(p.seed), '--max-examples', String(p.examples)],
      ['--generation-database', 'none', '--max-redirects', '0', '--request-timeout', '30'],
      ['--continue-on-failure', '--no-color', '--report', 'json', '--report-json-path', report],
      part.brief ? ['--phases', 'examples,fuzzing,stateful'] : [],
      part.operations.flatMap((id) => ['--include-operation-id', id]),
    ].flat(),
    { cwd: p.folder, env, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const code = await new Promise<number | null>((resolve, reject) => {
    const stopWith = (reason: string) => {
      output += `\n${reason}\n`;
      child.kill('SIGKILL');
    };
    const timer = setTimeout(() => stopWith(`stopped after ${p.withinMs / 1_000} s`), p.withinMs);
    const stop = () => stopWith('stopped');
    p.signal.addEventListener('abort', stop, { once: true });
    child.once('error', reject);
    child.once('close', (exitCode) => {
      clearTimeout(timer);
      p.signal.removeEventListener('abort', stop);
      resolve(exitCode);
    });
  });
  const cases = Number(/^\s+(\d+) generated/m.exec(output)?.[1] ?? 0);
  return { cases, failed: code !== 0, seconds: (Date.now() - began) / 1_000, output };
}
