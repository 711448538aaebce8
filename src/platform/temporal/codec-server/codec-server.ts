import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { PayloadCodec } from '@temporalio/common';
import { ServiceError } from '../../../kernel/errors.js';
import { readBody, utf8 } from '../../http/raw-body.js';
import { createHttpServer } from '../../http/server/http-server.js';
import { listenOn } from '../../http/server/private-server.js';
import type { Logger } from '../../telemetry/logger.js';
import { report } from '../../telemetry/measurements.js';
import { decodePayloads } from './decode-payloads.js';

/** The largest payload of Temporal has 2 MiB, and an event has few of them. */
const MAX_BODY_BYTES = 8 * 1_048_576;
const BODY_TIMEOUT_MS = 10_000;
const CONNECTIONS = 50;
/** Headers that the Temporal UI sends. */
const ALLOWED_HEADERS = 'authorization, authorization-extras, content-type, x-namespace';
const HELLO =
  'This is the codec server of Callwright. The Temporal UI of this browser can now show what the service has encrypted.\n';

interface CodecServerDeps {
  host: string;
  port: number;
  /** The secret of operators. */
  token: string;
  /** Origins of the pages that may read responses. */
  origins: readonly string[];
  codec: PayloadCodec;
  logger: Logger;
}

/**
 * Starts the server that decrypts payloads for Temporal's UI and command line, in their protocol. It only decrypts: the
 * service alone writes to its workflows.
 */
export async function startCodecServer(deps: CodecServerDeps): Promise<{ port: number; close(): void }> {
  const { token, origins, codec, logger } = deps;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method, url, headers } = request;
    const path = pathOf(url);
    if (path === '/health/live') return send(response, 200, { status: 'live' });
    if (path === '/health/ready') return send(response, 200, { status: 'ready' });
    const { origin } = headers;
    if (origin !== undefined && !origins.includes(origin))
      return send(response, 403, { message: 'CODEC_ORIGINS does not contain the origin of this page.' });
    if (origin !== undefined) allowOrigin(response, origin);
    // A preflight has no credentials.
    if (method === 'OPTIONS') return send(response, 204);
    if (!isAuthorized(headers.authorization, token)) {
      logger.warn({ credentials: headers.authorization !== undefined }, 'codec server request rejected');
      response.setHeader('www-authenticate', 'Basic realm="Callwright codec server", charset="UTF-8"');
      return send(response, 401, { message: 'Send CODEC_TOKEN as Bearer token, or as password of any user.' });
    }
    if (path === '/' && method === 'GET') return send(response, 200, HELLO);
    if (path !== '/decode') return send(response, 404, { message: 'Unknown path. The codec server only decodes.' });
    if (method !== 'POST') return send(response, 405, { message: 'Use POST.' });
    const body = await readBody(request, {
      limit: MAX_BODY_BYTES,
      decompress: false,
      signal: AbortSignal.timeout(BODY_TIMEOUT_MS),
    });
    const decoded = await decodePayloads(codec, utf8(body));
    if (decoded === undefined) return send(response, 400, { message: 'The body must be a list of payloads.' });
    const { payloads, unreadable } = decoded;
    logger.info({ payloads: payloads.length, unreadable, origin }, 'payloads decoded');
    return send(response, 200, { payloads });
  }

  const server = createHttpServer(
    { maxHeaderSize: 8_192, requestTimeout: 2 * BODY_TIMEOUT_MS },
    (request, response) => {
      measure(request, response);
      answer(request, response).catch((error: unknown) => {
        if (response.headersSent) return response.destroy();
        const status = error instanceof ServiceError && error.code === 'PAYLOAD_TOO_LARGE' ? 413 : 400;
        return send(response, status, { message: 'The body is too large, too slow, or cannot be read.' });
      });
    },
  );
  server.maxConnections = CONNECTIONS;
  return listenOn(server, deps);
}

const pathOf = (url: string | undefined) => url?.split('?', 1)[0];

/** Reports the requests that ask for payloads, with credentials or without. */
function measure({ method, url }: IncomingMessage, response: ServerResponse): void {
  if (method !== 'POST' || pathOf(url) !== '/decode') return;
  const began = performance.now();
  response.once('finish', () => {
    const seconds = (performance.now() - began) / 1_000;
    report('httpRequest', { method, route: '/decode', status: response.statusCode, mode: 'none', seconds });
  });
}

/** Lets a page read the response, and send the credentials that the browser has for this server. */
function allowOrigin(response: ServerResponse, origin: string): void {
  response.setHeader('access-control-allow-origin', origin);
  response.setHeader('access-control-allow-credentials', 'true');
  response.setHeader('access-control-allow-methods', 'POST');
  response.setHeader('access-control-allow-headers', ALLOWED_HEADERS);
  response.setHeader('access-control-max-age', '600');
  response.setHeader('vary', 'origin');
}

/** Compares digests, so that the time reveals neither the token nor its length. */
function isAuthorized(authorization: string | undefined, token: string): boolean {
  const [scheme = '', credentials = ''] = (authorization ?? '').split(' ');
  return timingSafeEqual(digestOf(givenToken(scheme.toLowerCase(), credentials)), digestOf(token));
}

function givenToken(scheme: string, credentials: string): string {
  if (scheme === 'bearer') return credentials;
  if (scheme !== 'basic') return '';
  const pair = Buffer.from(credentials, 'base64').toString('utf8');
  return pair.slice(pair.indexOf(':') + 1);
}

const digestOf = (text: string) => createHash('sha256').update(text).digest();

function send(response: ServerResponse, status: number, body?: object | string): void {
  const isText = typeof body === 'string';
  response.writeHead(status, {
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...(body === undefined ? {} : { 'content-type': isText ? 'text/plain; charset=utf-8' : 'application/json' }),
  });
  response.end(body === undefined ? undefined : isText ? body : JSON.stringify(body));
}
