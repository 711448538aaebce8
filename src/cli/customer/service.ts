import { readFile } from 'node:fs/promises';
import { createClient, type Client } from '../../client/client.js';
import { withoutTrailing } from '../../domain/text.js';
import { readLocalService } from '../local-service.js';
import { CliError, EXIT_USAGE, type CliProcess } from '../run.js';

/** A service that is asked with a key, and where both were found, for messages. */
export interface Service {
  client: Client;
  baseUrl: string;
  urlSource: string;
  keySource: string;
  env: NodeJS.ProcessEnv;
  /** Tells a person something beside the result. */
  note: (line: string) => void;
}

export interface AccessOptions {
  url?: string;
  apiKeyFile?: string;
}

/**
 * Finds the service and the key: options, then the environment, then the service that runs from this folder.
 * @throws CliError when one of them is not given or not usable
 */
export async function openService(
  { env, stderr }: Pick<CliProcess, 'env' | 'stderr'>,
  options: AccessOptions,
  json: boolean,
): Promise<Service> {
  // With --json, stderr holds error objects and nothing else.
  const note = (line: string) => void (json || stderr.write(`${line}\n`));
  const { baseUrl, urlSource } = await findUrl(env, options);
  const { apiKey, keySource } = await findKey(env, options, baseUrl);
  if (keySource === DEMO_KEY) note(`Using ${DEMO_KEY}; CALLWRIGHT_API_KEY names another.`);
  return { client: createClient({ baseUrl, apiKey }), baseUrl, urlSource, keySource, env, note };
}

/** It works on simulated calls and play money alone. */
export const DEMO_KEY = 'the test key of the demo account of the service that runs from this folder';

async function findUrl(env: NodeJS.ProcessEnv, { url }: AccessOptions) {
  if (url !== undefined) return { baseUrl: usableUrl(url, '--url'), urlSource: '--url' };
  if (env.CALLWRIGHT_URL) {
    return { baseUrl: usableUrl(env.CALLWRIGHT_URL, 'CALLWRIGHT_URL'), urlSource: 'CALLWRIGHT_URL' };
  }
  const { file, runtime } = await readLocalService(env);
  if (runtime.base_url !== undefined) return { baseUrl: runtime.base_url, urlSource: file };
  throw new CliError(
    `No service is known: set CALLWRIGHT_URL or --url, or start one here with npm start (${file} does not name one).`,
    EXIT_USAGE,
  );
}

async function findKey(env: NodeJS.ProcessEnv, { apiKeyFile }: AccessOptions, baseUrl: string) {
  if (apiKeyFile !== undefined) return { apiKey: await keyIn(apiKeyFile), keySource: apiKeyFile };
  if (env.CALLWRIGHT_API_KEY) {
    return { apiKey: usableKey(env.CALLWRIGHT_API_KEY, 'CALLWRIGHT_API_KEY'), keySource: 'CALLWRIGHT_API_KEY' };
  }
  const { runtime } = await readLocalService(env);
  const ofDemo = isLoopback(baseUrl) && runtime.base_url !== undefined && sameOrigin(baseUrl, runtime.base_url);
  if (ofDemo && runtime.test_api_key) return { apiKey: runtime.test_api_key, keySource: DEMO_KEY };
  throw new CliError('No API key is given: set CALLWRIGHT_API_KEY, or name a file by --api-key-file.', EXIT_USAGE);
}

async function keyIn(file: string): Promise<string> {
  try {
    return usableKey(await readFile(file, 'utf8'), file);
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw new CliError(`The API key cannot be read: ${(error as Error).message}`, EXIT_USAGE);
  }
}

/** A header can hold it; whether it is one of the service's, the service tells. */
function usableKey(text: string, source: string): string {
  const key = text.trim();
  if (!/^[\x21-\x7e]+$/.test(key)) throw new CliError(`${source} does not hold an API key.`, EXIT_USAGE);
  return key;
}

function usableUrl(text: string, source: string): string {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) {
    throw new CliError(`${source} must be an address like https://calls.example.com.`, EXIT_USAGE);
  }
  return withoutTrailing(text, '/');
}

export function isLoopback(url: string): boolean {
  const { hostname } = new URL(url);
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname);
}

function sameOrigin(one: string, other: string): boolean {
  return new URL(one).origin === new URL(other).origin;
}
