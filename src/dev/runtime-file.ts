import { randomUUID } from 'node:crypto';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';

export const PID_GROUPS = ['api', 'worker', 'media', 'simulator', 'temporal', 'mongodb'] as const;
export type PidGroup = (typeof PID_GROUPS)[number];

/** What a running stack tells of itself, for clients, tests and the command line. */
export interface Runtime {
  base_url: string;
  stream_url: string;
  portal_url: string;
  carrier_url: string;
  temporal_address: string;
  temporal_ui_url: string;
  mongodb_uri: string;
  live_api_key: string;
  test_api_key: string;
  agent_id: string;
  carrier_account_sid: string;
  carrier_auth_token: string;
  test_carrier_account_sid: string;
  test_carrier_auth_token: string;
  webhook_inbox_url: string;
  /** Of the processes themselves, so that a test can end exactly one. */
  pids: Record<PidGroup, number[]>;
}

/** Where a stack keeps its state: CALLWRIGHT_DATA_DIR, else `.callwright` in the working folder. */
export function dataFolder(env: NodeJS.ProcessEnv, cwd: string): string {
  return resolve(cwd, env.CALLWRIGHT_DATA_DIR || '.callwright');
}

/** What the stack of this data folder last told of itself; undefined when none runs. */
export async function readRuntime(folder: string): Promise<Runtime | undefined> {
  return readJson<Runtime>(join(folder, 'runtime.json'));
}

/** Written whole or not at all, and for the owner's eyes: it holds keys. */
export async function writeRuntime(folder: string, runtime: Runtime): Promise<void> {
  await writeJson(join(folder, 'runtime.json'), runtime);
}

export async function removeRuntime(folder: string): Promise<void> {
  await rm(join(folder, 'runtime.json'), { force: true });
}

/** The demo account's keys, which the database does not know: it keeps only their hashes. */
export interface Secrets {
  live_api_key: string;
  test_api_key: string;
}

export async function readSecrets(folder: string): Promise<Secrets | undefined> {
  return readJson<Secrets>(join(folder, 'secrets.json'));
}

export async function writeSecrets(folder: string, secrets: Secrets): Promise<void> {
  await writeJson(join(folder, 'secrets.json'), secrets);
}

async function readJson<T>(file: string): Promise<T | undefined> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as T;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

async function writeJson(file: string, value: object): Promise<void> {
  const fresh = `${file}.${randomUUID()}`;
  await writeFile(fresh, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
  await rename(fresh, file);
}
