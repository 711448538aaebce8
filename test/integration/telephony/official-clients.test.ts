import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startBench, type Bench } from './support/simulator.js';

const run = promisify(execFile);
const CLIENTS = join(__dirname, 'clients');
const CACHE = join(process.env['CALLWRIGHT_CACHE_DIR'] ?? join(homedir(), '.cache', 'callwright'), 'test-clients');
/** The time limit for the preparation: the first run downloads and compiles the clients. */
const PREPARE_WITHIN_MS = 300_000;

jest.setTimeout(PREPARE_WITHIN_MS + 60_000);

let bench: Bench;
beforeAll(async () => {
  bench = await startBench();
  mkdirSync(CACHE, { recursive: true });
});
afterAll(() => bench.close());

async function requireTool(command: string, args: string[], what: string): Promise<void> {
  try {
    await run(command, args, { timeout: 20_000 });
  } catch {
    throw new Error(`This test needs ${what} on the PATH: "${command} ${args.join(' ')}" does not run.`);
  }
}

function fingerprint(...files: string[]): string {
  const hash = createHash('sha256');
  for (const file of files) hash.update(readFileSync(file));
  return hash.digest('hex').slice(0, 16);
}

/** Creates a virtual environment with the Python client, once per version. @returns the path of its interpreter */
async function pythonClient(): Promise<string> {
  await requireTool('python3', ['-m', 'venv', '--help'], 'Python 3 with its venv module');
  const requirements = join(CLIENTS, 'python', 'requirements.txt');
  const ready = join(CACHE, `python-${fingerprint(requirements)}`);
  const python = join(ready, 'bin', 'python3');
  if (existsSync(join(ready, 'complete'))) return python;
  rmSync(ready, { recursive: true, force: true });
  await run('python3', ['-m', 'venv', ready], { timeout: PREPARE_WITHIN_MS });
  await run(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '-r', requirements], {
    timeout: PREPARE_WITHIN_MS,
  });
  mkdirSync(join(ready, 'complete'));
  return python;
}

/** Compiles the Go program, once per version. @returns the path of the binary */
async function goClient(): Promise<string> {
  await requireTool('go', ['version'], 'Go');
  const folder = join(CLIENTS, 'go');
  const ready = join(CACHE, `go-${fingerprint(...['main.go', 'go.mod', 'go.sum'].map((name) => join(folder, name)))}`);
  if (existsSync(ready)) return ready;
  const building = `${ready}.${process.pid}`;
  await run('go', ['build', '-mod=readonly', '-o', building, '.'], { cwd: folder, timeout: PREPARE_WITHIN_MS });
  renameSync(building, ready);
  return ready;
}

async function runClient(command: string, args: string[], to: string) {
  const { carrierAccountId, authToken } = bench.config.carriers.test;
  const { stdout } = await run(command, args, {
    timeout: 60_000,
    env: {
      PATH: process.env['PATH'],
      CARRIER_BASE_URL: bench.url,
      CARRIER_ACCOUNT_SID: carrierAccountId,
      CARRIER_AUTH_TOKEN: authToken,
      CALL_TO: to,
    },
  });
  return JSON.parse(stdout) as { created: string[]; started: number };
}

function expectAllOperations(seen: Awaited<ReturnType<typeof runClient>>, to: string): void {
  const [first] = seen.created;
  expect(seen.created).toHaveLength(3);
  expect(seen).toMatchObject({
    fetched: [first, to, 'outbound-api'],
    limited: first,
    ended: [first, 'canceled'],
    // The client lists the three calls in pages of two.
    listed: seen.created.toReversed(),
    refused: 21220,
    invalid: 21217,
  });
  expect(seen.started).toBeLessThanOrEqual(3);
}

describe("the carrier's official clients create, fetch, update and list calls of the simulated carrier", () => {
  it('in Python', async () => {
    const to = '+12025550102';
    expectAllOperations(await runClient(await pythonClient(), [join(CLIENTS, 'python', 'main.py')], to), to);
  });

  it('in Go', async () => {
    const to = '+12025550202';
    expectAllOperations(await runClient(await goClient(), [], to), to);
  });
});
