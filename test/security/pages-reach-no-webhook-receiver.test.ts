import { startWebhookInbox } from '../../src/dev/webhook-inbox.js';
import { startWebhookListener, type Received } from '../../src/cli/customer/webhook-listener.js';
import { parseConfig } from '../../src/platform/config/config.js';
import { createLogger } from '../../src/platform/telemetry/logger.js';
import { createSimulator } from '../../src/telephony/simulator/server.js';
import { rawRequest, sendBytes } from '../support/hostile-requests.js';

const post = (port: number, headers: Record<string, string>, method = 'POST') => {
  const bytes = rawRequest({ method, path: '/', headers: { 'Content-Length': '2', Connection: 'close', ...headers } });
  return sendBytes(port, Buffer.concat([Buffer.from(bytes), Buffer.from('{}')]), { forMs: 5_000 });
};
const postText = (port: number, text: string) =>
  fetch(`http://127.0.0.1:${port}/inbox`, { method: 'POST', body: text });
const portOf = (url: string) => Number(new URL(url).port);

describe('a web page in a developer’s browser', () => {
  it('cannot send through webhooks listen, neither directly nor by a host name that resolves to this machine', async () => {
    const received: Received[] = [];
    const onReceived = (one: Received) => received.push(one);
    const listener = await startWebhookListener({ port: 0, acceptedHost: 'tunnel.example', onReceived });
    const port = portOf(listener.url);
    try {
      for (const headers of [
        { Host: 'evil.example' },
        { Host: 'localhost.evil.example' },
        { Host: `127.0.0.1:${port}`, Origin: 'https://evil.example' },
        { Host: `127.0.0.1:${port}`, Origin: 'null' },
        { Host: `127.0.0.1:${port}`, 'Sec-Fetch-Site': 'cross-site' },
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

  it('cannot read or fill the webhook inbox by a host name that resolves to this machine', async () => {
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

  it.each([
    { Origin: 'https://evil.example', 'Sec-Fetch-Site': 'cross-site', 'Content-Type': 'text/plain' },
    { Origin: 'null' },
    { Origin: 'http://localhost:3000', 'Sec-Fetch-Site': 'same-site' },
    { 'Sec-Fetch-Site': 'cross-site' },
  ])('cannot read or forge deliveries of the webhook inbox by its address: %j', async (headers) => {
    const inbox = await startWebhookInbox(0);
    const port = portOf(inbox.url);
    try {
      for (const method of ['GET', 'POST']) {
        expect(await post(port, { Host: `127.0.0.1:${port}`, ...headers }, method)).toMatch(/^HTTP\/1\.1 403 /);
      }
      expect(inbox.deliveries()).toEqual([]);
    } finally {
      await inbox.close();
    }
  });

  it('cannot use the simulated carrier, whose tokens are published', async () => {
    const config = parseConfig({ NODE_ENV: 'test', SIMULATOR_PORT: '0' });
    const simulator = createSimulator({ config, logger: createLogger({ role: 'test', level: 'silent' }) });
    const { port } = await simulator.listen();
    const { carrierAccountId, authToken } = config.carriers.test;
    const Authorization = `Basic ${Buffer.from(`${carrierAccountId}:${authToken}`).toString('base64')}`;
    const path = `/2010-04-01/Accounts/${carrierAccountId}/Calls.json`;
    const ask = (headers: Record<string, string>) =>
      sendBytes(
        port,
        rawRequest({ path, headers: { Host: 'evil.example', Authorization, Connection: 'close', ...headers } }),
      );
    try {
      for (const headers of [{ Origin: 'https://evil.example' }, { 'Sec-Fetch-Site': 'cross-site' }]) {
        expect(await ask(headers)).toMatch(/^HTTP\/1\.1 403 /);
      }
      expect(await ask({})).toMatch(/^HTTP\/1\.1 200 /);
    } finally {
      await simulator.close();
    }
  });
});

describe('the webhook inbox of development', () => {
  it('keeps the newest 16 MiB and returns all of them', async () => {
    const inbox = await startWebhookInbox(0);
    const port = portOf(inbox.url);
    try {
      for (let n = 0; n < 24; n += 1) await postText(port, `${n} ${'x'.repeat(1_048_000)}`);
      const kept = inbox.deliveries();
      expect(kept.reduce((sum, { raw }) => sum + raw.length, 0)).toBeLessThanOrEqual(16 * 1_048_576);
      expect(kept[0]?.raw).toMatch(/^23 /);
      const listed = (await (await fetch(inbox.url)).json()) as { raw: string }[];
      expect(listed.map(({ raw }) => raw)).toEqual(kept.map(({ raw }) => raw));
      expect(listed.length).toBeGreaterThanOrEqual(15);
    } finally {
      await inbox.close();
    }
  });

  it('accepts a body that cannot be serialized as JSON again, and returns its text', async () => {
    const inbox = await startWebhookInbox(0);
    const port = portOf(inbox.url);
    const deep = `${'['.repeat(500_000)}${']'.repeat(500_000)}`;
    try {
      for (const text of [deep, '{"a":1}']) expect((await postText(port, text)).status).toBe(204);
      const listed = (await (await fetch(inbox.url)).json()) as { body: unknown }[];
      expect(listed.map(({ body }) => body)).toEqual([{ a: 1 }, deep]);
    } finally {
      await inbox.close();
    }
  });
});
