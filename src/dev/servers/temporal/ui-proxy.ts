import { request as send, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { isLoopbackHost } from '../../../platform/config/addresses.js';
import { createHttpServer } from '../../../platform/http/server/http-server.js';

export interface UiProxy {
  close: () => Promise<void>;
}

export interface UiAddress {
  host: string;
  port: number;
}

const CONNECTIONS = 100;
/** Headers that are not forwarded, because they belong to a single connection. */
const HOP_HEADERS = ['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade'];

/**
 * Starts a proxy for Temporal's web UI. It accepts only loopback host names and requests from the UI's pages. The UI
 * itself accepts any host and origin, so by DNS rebinding a web page could read and end every workflow.
 * @param ui the address of the UI itself
 */
export async function startUiProxy(port: number, ui: UiAddress): Promise<UiProxy> {
  const server = createHttpServer({}, (request, response) => {
    if (!isAdmitted(request)) {
      response.writeHead(403, { connection: 'close' }).end();
      return;
    }
    passOn(request, response, ui).catch(() => {
      if (response.headersSent) response.destroy();
      else response.writeHead(502, { connection: 'close' }).end();
    });
  });
  server.maxConnections = CONNECTIONS;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  return {
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/**
 * Whether to forward a request. Other sites may link to the UI, but their scripts, forms and images must not access it.
 */
function isAdmitted({ headers, url = '' }: IncomingMessage): boolean {
  const { host = '', origin } = headers;
  if (!url.startsWith('/') || !isLoopbackHost(host)) return false;
  if (origin !== undefined && origin !== `http://${host}`) return false;
  return headers['sec-fetch-site'] !== 'cross-site' || headers['sec-fetch-mode'] === 'navigate';
}

async function passOn(request: IncomingMessage, response: ServerResponse, ui: UiAddress): Promise<void> {
  const { method, url, headers } = request;
  const forwarded = send({ ...ui, method, path: url, headers: endToEnd(headers), agent: false });
  response.once('close', () => forwarded.destroy());
  const responded = new Promise<IncomingMessage>((resolve, reject) => {
    forwarded.once('response', resolve);
    forwarded.once('error', reject);
  });
  const [upstream] = await Promise.all([responded, pipeline(request, forwarded)]);
  response.writeHead(upstream.statusCode ?? 502, endToEnd(upstream.headers));
  await pipeline(upstream, response);
}

function endToEnd(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP_HEADERS.includes(name)));
}
