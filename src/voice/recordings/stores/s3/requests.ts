import type * as sdkOnly from '@aws-sdk/client-s3';
import type { S3Client } from '@aws-sdk/client-s3';
import { report } from '../../../../platform/telemetry/measurements.js';
import type { S3Settings } from '../../../../platform/config/recording-settings.js';

/** Time limit of a request with its retries. It transfers at most some megabytes. */
const REQUEST_TIMEOUT_MS = 10_000;
const CONNECT_TIMEOUT_MS = 3_000;
const ATTEMPTS = 3;
/** Requests of a process at once. Others wait. */
const MAX_SOCKETS = 200;

type Sdk = typeof sdkOnly;

/** An object, or the beginning of the keys of several. */
export interface Place {
  bucket: string;
  key: string;
}

export interface Request {
  sdk: Sdk;
  client: S3Client;
  options: { abortSignal: AbortSignal };
}

/** Sends a request, which `outer` ends. */
export type SendRequest = <T>(operation: string, send: (p: Request) => Promise<T>, outer?: AbortSignal) => Promise<T>;

/**
 * Sends requests to S3, each with a time limit for all its attempts. Loads the SDK.
 * @param options.timeoutMs overridden only by tests
 */
export function createRequests(settings: S3Settings, { timeoutMs = REQUEST_TIMEOUT_MS } = {}): SendRequest {
  // Begin at once: a media process must not load it while it carries calls.
  const loaded = load(settings);
  loaded.catch(() => undefined);

  return async (operation, send, outer) => {
    outer?.throwIfAborted();
    const over = new AbortController();
    const end = () => over.abort(outer?.reason);
    outer?.addEventListener('abort', end, { once: true });
    const timer = setTimeout(() => over.abort(new Error(`S3 has not answered ${operation} in time.`)), timeoutMs);
    const began = performance.now();
    let outcome: 'ok' | 'missing' | 'failed' = 'failed';
    try {
      const result = await send({ ...(await loaded), options: { abortSignal: over.signal } });
      outcome = 'ok';
      return result;
    } catch (error) {
      if (isMissing(error)) outcome = 'missing';
      // The SDK's own error says only that the request was aborted.
      throw over.signal.aborted ? over.signal.reason : error;
    } finally {
      clearTimeout(timer);
      outer?.removeEventListener('abort', end);
      if (outer?.aborted !== true) {
        report('objectRequest', { operation, outcome, seconds: (performance.now() - began) / 1_000 });
      }
    }
  };
}

/** Whether an error says that an object or upload does not exist. */
export function isMissing(error: unknown): boolean {
  return error instanceof Error && ['NoSuchKey', 'NotFound', 'NoSuchUpload'].includes(error.name);
}

async function load(settings: S3Settings): Promise<{ sdk: Sdk; client: S3Client }> {
  const sdk = await import('@aws-sdk/client-s3');
  const { region, endpoint, forcePathStyle, credentials } = settings;
  const client = new sdk.S3Client({
    region,
    forcePathStyle,
    maxAttempts: ATTEMPTS,
    ...(endpoint === undefined ? {} : { endpoint }),
    // By default the SDK's chain: environment, profile, role of the container or machine.
    ...(credentials === undefined ? {} : { credentials }),
    requestHandler: {
      connectionTimeout: CONNECT_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      httpAgent: { maxSockets: MAX_SOCKETS, keepAlive: true },
      httpsAgent: { maxSockets: MAX_SOCKETS, keepAlive: true },
    },
  });
  return { sdk, client };
}
