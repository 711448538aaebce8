import { createServer } from 'node:https';
import { text } from 'node:stream/consumers';
import type { Certificate } from './certificate.js';

/** The customer's server, which accepts every webhook over TLS and counts them by call. */
export async function startCustomerServer(p: { address: string; port: number; certificate: Certificate }) {
  const received = new Map<string, number>();
  const { cert, key } = p.certificate;
  const server = createServer({ cert, key }, (request, response) => {
    void text(request).then((body) => {
      const { call_id: callId } = JSON.parse(body) as { call_id: string };
      received.set(callId, (received.get(callId) ?? 0) + 1);
      response.writeHead(204).end();
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(p.port, p.address, resolve);
  });
  return {
    /** How many times the webhook of each call has arrived. */
    received,
    async close(): Promise<void> {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
