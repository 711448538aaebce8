import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';
import { createHttpServer } from '../../http/server/http-server.js';
import type { Logger } from '../logger.js';

/**
 * Serves metrics at `/metrics` in the text format of Prometheus, and `/health/live`. It has no authentication, so the
 * address must be private.
 */
export async function startMetricsServer(p: {
  registry: Registry;
  host: string;
  port: number;
  logger: Logger;
}): Promise<{ port: number; close(): void }> {
  async function answer({ url, method }: IncomingMessage, response: ServerResponse): Promise<void> {
    if (url === '/health/live') return send(response, 200, 'text/plain', 'live\n');
    if (url !== '/metrics' || method !== 'GET') return send(response, 404, 'text/plain', 'GET /metrics\n');
    try {
      send(response, 200, p.registry.contentType, await p.registry.metrics());
    } catch (error) {
      p.logger.error({ err: error }, 'metrics could not be collected');
      send(response, 503, 'text/plain', 'The metrics could not be collected; the log says why.\n');
    }
  }

  const server = createHttpServer({ maxHeaderSize: 8_192 }, (request, response) => void answer(request, response));
  server.listen(p.port, p.host);
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

function send(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store', connection: 'close' });
  response.end(body);
}
