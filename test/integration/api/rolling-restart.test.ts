import { Agent, createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually, startService, type Customer, type Service } from '../../support/http/harness.js';
import { freePort, startRole } from '../../support/role-process';

const CHECK_EVERY_MS = 250;
const DRAIN_DELAY_SECONDS = 2;
const CLIENTS = 10;

/**
 * A load balancer as people run them: it keeps connections to its APIs open, sends requests only to those that are
 * ready, and never repeats a request.
 */
async function startBalancer(ports: readonly number[]) {
  const apis = ports.map((port) => ({ port, isReady: true, agent: new Agent({ keepAlive: true }) }));
  let turn = 0;

  const isReady = (port: number) =>
    fetch(`http://127.0.0.1:${port}/health/serving`, { signal: AbortSignal.timeout(2_000) }).then(
      ({ status }) => status === 200,
      () => false,
    );
  const checks = setInterval(() => {
    for (const api of apis) void isReady(api.port).then((ready) => (api.isReady = ready));
  }, CHECK_EVERY_MS);

  function forward(from: IncomingMessage, to: ServerResponse): void {
    const ready = apis.filter((api) => api.isReady);
    const api = ready[turn++ % ready.length];
    if (api === undefined) return void to.writeHead(502).end('no API is ready');
    const { method, url, headers } = from;
    const onward = httpRequest(
      { host: '127.0.0.1', port: api.port, agent: api.agent, method, path: url, headers },
      (response) => {
        to.writeHead(response.statusCode ?? 502, response.headers);
        response.pipe(to);
      },
    );
    onward.on('error', (error) => to.writeHead(502).end(String(error)));
    from.pipe(onward);
  }

  const server = createServer(forward).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    sendsTo: (port: number) => apis.some((api) => api.port === port && api.isReady),
    async close(): Promise<void> {
      clearInterval(checks);
      for (const { agent } of apis) agent.destroy();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

describe('an API process behind a proxy', () => {
  let service: Service;
  let balancer: Awaited<ReturnType<typeof startBalancer>>;
  let ports: number[];
  let apis: Awaited<ReturnType<typeof startRole>>[];

  const startApi = (port: number) =>
    startRole('api', {
      NODE_ENV: 'test',
      API_PORT: String(port),
      PUBLIC_BASE_URL: 'http://127.0.0.1:9',
      MONGODB_URI: service.config.mongodbUri,
      TEMPORAL_ADDRESS: service.config.temporal.address,
      TEMPORAL_TASK_QUEUE: service.config.temporal.taskQueues.calls,
      SIMULATOR_URL: 'http://127.0.0.1:9',
      TRUST_PROXY: 'true',
      DRAIN_DELAY_SECONDS: String(DRAIN_DELAY_SECONDS),
    });

  beforeAll(async () => {
    service = await startService({ worker: false });
    ports = [await freePort(), await freePort()];
    apis = await Promise.all(ports.map(startApi));
    balancer = await startBalancer(ports);
  }, 120_000);
  afterAll(async () => {
    await balancer.close();
    await Promise.all(apis.map((api) => api.kill()));
    await service.close();
  });

  async function ask({ testKey }: Customer): Promise<string> {
    try {
      const headers = { Authorization: `Bearer ${testKey}` };
      const response = await fetch(`${balancer.url}/agents`, { headers });
      const text = await response.text();
      return response.status === 200 ? 'answered' : `${response.status} ${text}`;
    } catch (error) {
      return String(error);
    }
  }

  it('loses no request when it is restarted under load', async () => {
    const customers = await Promise.all(Array.from({ length: CLIENTS }, () => service.customer()));
    const outcomes: string[] = [];
    let isRestarted = false;
    async function keepAsking(customer: Customer): Promise<void> {
      while (!isRestarted) {
        outcomes.push(await ask(customer));
        await sleep(50);
      }
    }
    const load = customers.map(keepAsking);
    await eventually(async () => outcomes.length > CLIENTS);
    const [port = 0] = ports;
    const stopped = apis[0]?.stop();
    // The process still serves, but asks for no more requests.
    await eventually(async () => !balancer.sendsTo(port), 10_000);
    expect(await stopped).toEqual({ code: 0, signal: null });
    apis[0] = await startApi(port);
    await eventually(async () => balancer.sendsTo(port), 20_000);
    const before = outcomes.length;
    await eventually(async () => outcomes.length > before + CLIENTS);
    isRestarted = true;
    await Promise.all(load);
    expect(new Set(outcomes)).toEqual(new Set(['answered']));
    expect(outcomes.length).toBeGreaterThanOrEqual(100);
  }, 120_000);

  it('keeps idle connections longer than load balancers do, and shortly if clients connect directly', async () => {
    const { headers } = await fetch(`http://127.0.0.1:${ports[1]}/health/live`);
    expect(headers.get('keep-alive')).toMatch(/^timeout=75\b/);
    expect((await service.request('/health/live')).headers.get('keep-alive')).toMatch(/^timeout=5\b/);
  });
});
