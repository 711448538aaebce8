import { createServer, request as send, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { isLoopbackHost } from '../../../platform/config/addresses.js';

export interface UiProxy {
  close: () => Promise<void>;
}

export interface UiAddress {
  host: string;
  port: number;
}

const CONNECTIONS = 100;
/** Of one connection: the next has its own. */
const HOP_HEADERS = ['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade'];

/**
 * Serves Temporal's user interface, which takes requests for any host and from anybody, to this machine's own names and to
 * its own pages: by a name that leads here, a web page would read and end every workflow.
 * @param ui where it listens
 */
export async function startUiProxy(port: number, ui: UiAddress): Promise<UiProxy> {
  const server = createServer((request, response) => {
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

/** Links of other sites may lead here; their scripts, forms and images may not. */
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
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    forwarded.once('response', resolve);
    forwarded.once('error', reject);
  });
  const [answer] = await Promise.all([answered, pipeline(request, forwarded)]);
  response.writeHead(answer.statusCode ?? 502, endToEnd(answer.headers));
  await pipeline(answer, response);
}

function endToEnd(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP_HEADERS.includes(name)));
}
