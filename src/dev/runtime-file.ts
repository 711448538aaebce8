import { randomUUID } from 'node:crypto';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';

export const PID_GROUPS = ['api', 'worker', 'media', 'simulator', 'temporal', 'mongodb'] as const;
export type PidGroup = (typeof PID_GROUPS)[number];

/** The addresses, keys and pids of a running stack, for clients, tests and the command line. */
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
  /** Pids of the processes by group, so that a test can kill exactly one process. */
  pids: Record<PidGroup, number[]>;
}

/** Returns the folder with a stack's data: CALLWRIGHT_DATA_DIR, or `.callwright` in the working directory. */
export function dataFolder(env: NodeJS.ProcessEnv, cwd: string): string {
  return resolve(cwd, env.CALLWRIGHT_DATA_DIR || '.callwright');
}

/** Reads runtime.json of this data folder; undefined when no stack is running. */
export async function readRuntime(folder: string): Promise<Runtime | undefined> {
  return readJson<Runtime>(join(folder, 'runtime.json'));
}

/** Writes runtime.json atomically. Only the owner can read the file, because it contains API keys. */
export async function writeRuntime(folder: string, runtime: Runtime): Promise<void> {
  await writeJson(join(folder, 'runtime.json'), runtime);
}

export async function removeRuntime(folder: string): Promise<void> {
  await rm(join(folder, 'runtime.json'), { force: true });
}

/** The demo account's API keys. They are kept in a file, because the database stores only their hashes. */
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
