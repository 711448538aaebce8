import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Registry } from 'prom-client';
import { sendOnce, startPrivateServer } from '../../http/server/private-server.js';
import type { Logger } from '../logger.js';

/**
 * Serves metrics at `/metrics` in the text format of Prometheus, and `/health/live`. It has no authentication, so the
 * address must be private.
 * @param p.checkReadiness rejects if a role with no other port, the exporter, is not ready; others have no
 * `/health/ready` here
 */
export async function startMetricsServer(p: {
  registry: Registry;
  host: string;
  port: number;
  logger: Logger;
  checkReadiness?: (() => Promise<void>) | undefined;
}): Promise<{ port: number; close(): void }> {
  async function answer({ url, method }: IncomingMessage, response: ServerResponse): Promise<void> {
    if (url === '/health/live') return sendOnce(response, 200, 'text/plain', 'live\n');
    if (url === '/health/ready' && p.checkReadiness !== undefined) {
      const isReady = await p.checkReadiness().then(
        () => true,
        () => false,
      );
      return sendOnce(response, isReady ? 200 : 503, 'text/plain', isReady ? 'ready\n' : 'not ready\n');
    }
    if (url !== '/metrics' || method !== 'GET') return sendOnce(response, 404, 'text/plain', 'GET /metrics\n');
    try {
      sendOnce(response, 200, p.registry.contentType, await p.registry.metrics());
    } catch (error) {
      p.logger.error({ err: error }, 'metrics could not be collected');
      sendOnce(response, 503, 'text/plain', 'The metrics could not be collected; the log says why.\n');
    }
  }

  return startPrivateServer({ host: p.host, port: p.port, answer });
}
