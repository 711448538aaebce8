import { readFile } from 'node:fs/promises';
import { createClient, type Client } from '../../sdk/client.js';
import { urlFrom, withoutTrailing } from '../../kernel/text.js';
import { isLoopbackHost } from '../../platform/config/addresses.js';
import type { Mode } from '../../kernel/ids.js';
import { readLocalService } from '../local-service.js';
import { CliError, EXIT_USAGE, type CliProcess } from '../run.js';
import { printable } from '../terminal.js';

/** A client of the service, with the sources of its URL and its key, which error messages name. */
export interface Service {
  readonly client: Client;
  readonly keySource: string;
  /** Switches to the demo account's key of this mode and prints that. Does nothing if the user gave a key. */
  useMode: (mode: Mode) => void;
  baseUrl: string;
  urlSource: string;
  env: NodeJS.ProcessEnv;
  /** Prints a message for people in addition to the result. */
  note: (line: string) => void;
}

export interface AccessOptions {
  url?: string;
  apiKeyFile?: string;
}

/** An API key and its source. */
interface FoundKey {
  apiKey: string;
  keySource: string;
}

/** The names of the demo account's keys in messages. */
export const DEMO_KEYS: Readonly<Record<Mode, string>> = {
  live: 'the live key of the demo account of the service that runs from this folder',
  test: 'the test key of the demo account of the service that runs from this folder',
};

/**
 * Finds the service URL and the API key in the options, the environment, or the runtime file of the service that was
 * started in this folder.
 * @param mode which demo account key to start with when no key is given
 * @throws CliError when either is missing or invalid
 */
export async function openService(
  { env, stderr }: Pick<CliProcess, 'env' | 'stderr'>,
  options: AccessOptions,
  json: boolean,
  mode: Mode = 'test',
): Promise<Service> {
  // With --json, stderr contains only error objects.
  const note = (line: string) => void (json || stderr.write(`${printable(line)}\n`));
  const { baseUrl, urlSource } = await findUrl(env, options);
  const keys = await findKeys(env, options, baseUrl);
  let inUse: FoundKey & { client: Client };

  function use({ apiKey, keySource }: FoundKey): void {
    inUse = { apiKey, keySource, client: createClient({ baseUrl, apiKey }) };
    if (isDemoKey(keySource)) note(`Using ${keySource}. Set CALLWRIGHT_API_KEY to use another key.`);
  }

  use(keys[mode]);
  return {
    get client() {
      return inUse.client;
    },
    get keySource() {
      return inUse.keySource;
    },
    useMode(wanted) {
      if (keys[wanted].apiKey !== inUse.apiKey) use(keys[wanted]);
    },
    baseUrl,
    urlSource,
    env,
    note,
  };
}

export function isDemoKey(keySource: string): boolean {
  return Object.values(DEMO_KEYS).includes(keySource);
}

async function findUrl(env: NodeJS.ProcessEnv, { url }: AccessOptions) {
  if (url !== undefined) return { baseUrl: usableUrl(url, '--url'), urlSource: '--url' };
  if (env.CALLWRIGHT_URL) {
    return { baseUrl: usableUrl(env.CALLWRIGHT_URL, 'CALLWRIGHT_URL'), urlSource: 'CALLWRIGHT_URL' };
  }
  const { file, address } = await readLocalService(env);
  const baseUrl = address('base_url', 'CALLWRIGHT_URL or --url');
  if (baseUrl !== undefined) return { baseUrl, urlSource: file };
  throw new CliError(
    `No service found: set CALLWRIGHT_URL or --url, or start one here with npm start (${file} contains no address).`,
    EXIT_USAGE,
  );
}

/** Finds the key for each mode. A given key is used for both modes; the demo account has one key per mode. */
async function findKeys(
  env: NodeJS.ProcessEnv,
  { apiKeyFile }: AccessOptions,
  baseUrl: string,
): Promise<Record<Mode, FoundKey>> {
  const given = (apiKey: string, keySource: string) => ({ live: { apiKey, keySource }, test: { apiKey, keySource } });
  if (apiKeyFile !== undefined) return given(await keyIn(apiKeyFile), apiKeyFile);
  if (env.CALLWRIGHT_API_KEY) {
    return given(usableKey(env.CALLWRIGHT_API_KEY, 'CALLWRIGHT_API_KEY'), 'CALLWRIGHT_API_KEY');
  }
  const { runtime } = await readLocalService(env);
  const ofDemo = isLoopback(baseUrl) && urlFrom(runtime.base_url ?? '')?.origin === new URL(baseUrl).origin;
  const { live_api_key: live, test_api_key: test } = runtime;
  if (ofDemo && test) {
    const ofTest = { apiKey: test, keySource: DEMO_KEYS.test };
    return { live: live ? { apiKey: live, keySource: DEMO_KEYS.live } : ofTest, test: ofTest };
  }
  throw new CliError('API key missing: set CALLWRIGHT_API_KEY or --api-key-file.', EXIT_USAGE);
}

async function keyIn(file: string): Promise<string> {
  try {
    return usableKey(await readFile(file, 'utf8'), file);
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw new CliError(`--api-key-file cannot be read: ${(error as Error).message}`, EXIT_USAGE);
  }
}

/** Checks that the key can be sent in a header; the service validates the rest. */
function usableKey(text: string, source: string): string {
  const key = text.trim();
  if (!/^[\x21-\x7e]+$/.test(key)) throw new CliError(`${source} does not contain an API key.`, EXIT_USAGE);
  return key;
}

function usableUrl(text: string, source: string): string {
  if (!/^https?:\/\//i.test(text) || urlFrom(text) === undefined) {
    throw new CliError(`${source} must be a URL like https://calls.example.com.`, EXIT_USAGE);
  }
  return withoutTrailing(text, '/');
}

export function isLoopback(url: string): boolean {
  return isLoopbackHost(new URL(url).host);
}
