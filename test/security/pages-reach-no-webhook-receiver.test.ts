import { startWebhookInbox } from '../../src/dev/webhook-inbox.js';
import { startWebhookListener, type Received } from '../../src/cli/customer/webhook-listener.js';
import { rawRequest, sendBytes } from '../support/hostile-requests.js';

const post = (port: number, headers: Record<string, string>, method = 'POST') => {
  const bytes = rawRequest({ method, path: '/', headers: { 'Content-Length': '2', Connection: 'close', ...headers } });
  return sendBytes(port, Buffer.concat([Buffer.from(bytes), Buffer.from('{}')]), { forMs: 5_000 });
};
const portOf = (url: string) => Number(new URL(url).port);

describe('a web page in a developer’s browser', () => {
  it('has nothing passed on by webhooks listen, neither as itself nor by a name that leads to this machine', async () => {
    const received: Received[] = [];
    const onReceived = (one: Received) => received.push(one);
    const listener = await startWebhookListener({ port: 0, answeredHost: 'tunnel.example', onReceived });
    const port = portOf(listener.url);
    try {
      for (const headers of [
        { Host: 'evil.example' },
        { Host: 'localhost.evil.example' },
        { Host: `127.0.0.1:${port}`, Origin: 'https://evil.example' },
        { Host: `127.0.0.1:${port}`, Origin: 'null' },
      ]) {
        expect(await post(port, headers)).toMatch(/^HTTP\/1\.1 403 /);
      }
      expect(received).toEqual([]);
      for (const Host of [`127.0.0.1:${port}`, 'localhost', '[::1]:3000', 'tunnel.example']) {
        expect(await post(port, { Host })).toMatch(/^HTTP\/1\.1 204 /);
      }
    } finally {
      await listener.close();
    }
  });

  it('reads and fills no webhook inbox by a name that leads to this machine', async () => {
    const inbox = await startWebhookInbox(0);
    const port = portOf(inbox.url);
    try {
      for (const method of ['GET', 'POST']) {
        expect(await post(port, { Host: 'evil.example' }, method)).toMatch(/^HTTP\/1\.1 403 /);
      }
      expect(inbox.deliveries()).toEqual([]);
      expect(await post(port, { Host: `127.0.0.1:${port}` })).toMatch(/^HTTP\/1\.1 204 /);
    } finally {
      await inbox.close();
    }
  });
});
