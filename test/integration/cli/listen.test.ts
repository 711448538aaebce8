import { createCompletionSender } from '../../../src/calls/wiring.js';
import { Webhook } from 'standardwebhooks';
import { createLogger } from '../../../src/platform/telemetry/logger.js';
import { eventually, startService, type Customer, type Service } from '../../support/http/harness.js';
import { managementOf } from '../../support/http/management-support.js';
import { startReceiver, type Receiver } from '../webhooks/support/receiver.js';
import { runCli, startCli } from './support/run-cli.js';

const BEFORE = 'https://example.com/before';

describe('callwright webhooks listen', () => {
  let service: Service;
  let management: ReturnType<typeof managementOf>;
  let customer: Customer;
  let env: NodeJS.ProcessEnv;
  let receiver: Receiver;
  let receiverStatus = 200;
  let running: ReturnType<typeof startCli> | undefined;
  beforeAll(async () => {
    service = await startService({ worker: false });
    management = managementOf(service);
    customer = await service.customer();
    env = { CALLWRIGHT_URL: service.baseUrl, CALLWRIGHT_API_KEY: customer.liveKey };
    receiver = await startReceiver((response) => response.writeHead(receiverStatus).end('noted'));
  });
  afterEach(() => running?.kill());
  afterAll(async () => {
    await receiver.close();
    await service.close();
  });

  /** Starts `callwright webhooks listen` on a free port and returns the URL of the listener. */
  async function listening(options: string[], more: NodeJS.ProcessEnv = {}) {
    const command = startCli(['webhooks', 'listen', '--port', '0', ...options], { ...env, ...more });
    running = command;
    const url = await eventually(() => Promise.resolve(/webhooks at (\S+)\. /.exec(command.stderr())?.[1]));
    return { command, url };
  }

  const sender = () =>
    createCompletionSender({
      config: service.config,
      database: service.database,
      logger: createLogger({ role: 'test', level: 'silent' }),
    });
  const webhookUrlOf = async () =>
    (await management.get(`/agents/${customer.agent._id}`, customer.liveKey)).json['webhook_url'];

  it('forwards deliveries byte for byte and responds as the receiver does', async () => {
    const rotated = await management.post('/webhook_signing/rotate', customer.liveKey, {});
    const secret = String(rotated.json['secret']);
    const forwardTo = ['--forward-to', receiver.url];
    const { command, url } = await listening(forwardTo, { CALLWRIGHT_WEBHOOK_SECRET: secret });
    const callId = await management.endedCall(customer, { webhookUrl: `${url}/path` });
    receiverStatus = 503;
    expect(await sender().attempt(callId)).toMatchObject({ result: 'retry' });
    receiverStatus = 200;
    await eventually(async () => (await sender().attempt(callId)).result === 'delivered');

    const [first, second] = receiver.received;
    expect(first?.body).toBe(second?.body);
    expect(new Webhook(secret).verify(second?.body ?? '', second?.headers as Record<string, string>)).toMatchObject({
      call_id: callId,
    });
    const shown = `${callId} COMPLETED callee_hangup signature valid`;
    const body = `\\{\\n[^]*"call_id": "${callId}"[^]*\\n\\}\\n`;
    const both = new RegExp(`${shown} -> 503 .*\\n${body}.*${shown} -> 200 .*\\n${body}$`);
    expect(await eventually(() => Promise.resolve(both.test(command.stdout())))).toBe(true);
    command.interrupt();
    expect((await command.ended).code).toBe(0);
    await management.delete('/webhook_signing', customer.liveKey);
  });

  it('rejects requests without a valid signature of their call’s event and does not forward them', async () => {
    const secret = `whsec_${Buffer.from('x'.repeat(32)).toString('base64')}`;
    const forwardTo = ['--forward-to', receiver.url];
    const { command, url } = await listening(forwardTo, { CALLWRIGHT_WEBHOOK_SECRET: secret });
    const before = receiver.received.length;
    const other = new Webhook(`whsec_${Buffer.from('y'.repeat(32)).toString('base64')}`);
    const body = '{"call_id":"call_1"}';
    const send = (signer: Webhook, at: Date, id = 'evt_call_1_completed') =>
      fetch(url, {
        method: 'POST',
        body,
        headers: {
          'webhook-id': id,
          'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
          'webhook-signature': signer.sign(id, at, body),
        },
      });
    expect((await send(other, new Date())).status).toBe(401);
    expect((await send(new Webhook(secret), new Date(Date.now() - 3_600_000))).status).toBe(401);
    expect((await fetch(url, { method: 'POST', body })).status).toBe(401);
    for (const id of ['tool_call_1', 'evt_call_2_completed']) {
      expect((await send(new Webhook(secret), new Date(), id)).status).toBe(401);
    }
    expect(receiver.received).toHaveLength(before);
    expect((await send(new Webhook(secret), new Date())).status).toBe(200);
    const shown = 'call_1 signature invalid -> 401';
    expect(await eventually(() => Promise.resolve(command.stdout().includes(shown)))).toBe(true);
  });

  it('sets an agent’s webhook_url to itself until it is stopped, then restores it', async () => {
    const path = `/agents/${customer.agent._id}`;
    await management.patch(path, customer.liveKey, { webhook_url: BEFORE });
    const { command, url } = await listening(['--agent', customer.agent._id]);
    await eventually(async () => (await webhookUrlOf()) === url);
    await eventually(() => Promise.resolve(command.stderr().includes(`instead of to ${BEFORE}`)));
    command.interrupt();
    expect(await command.ended).toMatchObject({
      code: 0,
      stderr: expect.stringContaining(`${BEFORE} again`) as string,
    });
    expect(await webhookUrlOf()).toBe(BEFORE);
  });

  it('does not overwrite a webhook_url that was changed meanwhile', async () => {
    const path = `/agents/${customer.agent._id}`;
    const { command, url } = await listening(['--agent', customer.agent._id]);
    await eventually(async () => (await webhookUrlOf()) === url);
    await management.patch(path, customer.liveKey, { webhook_url: 'https://example.com/new' });
    command.interrupt();
    expect((await command.ended).code).toBe(0);
    expect(await webhookUrlOf()).toBe('https://example.com/new');
  });

  it('responds with 502 for an unavailable receiver, rejects large bodies and other methods, and continues', async () => {
    const { command, url } = await listening(['--forward-to', 'http://127.0.0.1:2/hook']);
    const post = (body: string) => fetch(url, { method: 'POST', body }).then(({ status }) => status);
    expect(await post('{}')).toBe(502);
    expect(await post('x'.repeat(1_100_000))).toBe(413);
    expect((await fetch(url)).status).toBe(405);
    expect(await post('no json')).toBe(502);
    const lines = await eventually(() =>
      Promise.resolve(/^.*-> 502.*\n\{\}\n.*-> 502.*\nno json\n$/.exec(command.stdout())?.[0]),
    );
    expect(lines).toContain('ECONNREFUSED');
  });

  it('prints each delivery on one line with --json, and accepts it without a receiver', async () => {
    const { command: other, url } = await listening([]);
    const port = new URL(url).port;
    const portInUse = await runCli(['webhooks', 'listen', '--port', port], env);
    expect(portInUse).toMatchObject({ code: 1, stderr: expect.stringContaining(`Port ${port} is in use`) as string });
    other.interrupt();
    await other.ended;
    const command = startCli(['webhooks', 'listen', '--port', port, '--json'], env);
    running = command;
    const body = { call_id: 'call_1', status: 'FAILED' };
    const send = () => fetch(`${url}/x`, { method: 'POST', body: JSON.stringify(body) }).catch(() => undefined);
    expect((await eventually(send)).status).toBe(204);
    const line = await eventually(() => Promise.resolve(command.stdout()));
    expect(JSON.parse(line)).toMatchObject({ path: '/x', body, status: 204 });
    expect(command.stderr()).toBe('');
  });

  it.each([
    ['an invalid secret', [], { CALLWRIGHT_WEBHOOK_SECRET: 'abc' }],
    ['an invalid address', ['--forward-to', 'localhost:3000'], {}],
  ])('does not start with %s', async (_name, options, more) => {
    expect((await runCli(['webhooks', 'listen', '--port', '0', ...options], { ...env, ...more })).code).toBe(2);
  });
});
