import { isBadPort } from '../../src/kernel/bad-ports.js';
import { createWebhookClient } from '../../src/webhooks/client.js';
import { expectError, startService, type Customer, type Service } from '../support/http/harness.js';
import { managementOf } from '../support/http/management-support.js';
import { egressConfig } from '../support/egress-config.js';

const NUMBER = '+12025550123';
const toolAt = (url: string) => ({
  name: 'look_up',
  description: 'Looks up an order.',
  method: 'GET',
  url,
  parameters: '{"type":"object","properties":{}}',
});

let service: Service;
let customer: Customer;
let ask: ReturnType<typeof managementOf>;

beforeAll(async () => {
  service = await startService({ worker: false });
  customer = await service.customer();
  ask = managementOf(service);
});
afterAll(() => service.close());

describe('a URL with the port of another protocol', () => {
  it.each([
    'http://mail.example.com:25/',
    'https://example.com:22/',
    'http://example.com:6000/',
    'http://example.com:0/',
    'https://example.com:10080/x',
  ])('is rejected in every field: %s', async (url) => {
    const made = await ask.post('/agents', customer.liveKey, { name: 'A', instruction: 'Be kind.' });
    const agent = `/agents/${String(made.json['agent_id'])}`;
    const byField = [
      [
        'webhook_url',
        await service.place(customer.testKey, { to_phone_number: NUMBER, instruction: 'x', webhook_url: url }),
      ],
      [
        'webhook_url',
        await ask.post('/calls', customer.testKey, { to_phone_number: NUMBER, instruction: 'x', webhook_url: url }),
      ],
      ['webhook_url', await ask.post('/agents', customer.liveKey, { name: 'A', instruction: 'x', webhook_url: url })],
      ['webhook_url', await ask.patch(agent, customer.liveKey, { webhook_url: url })],
      ['tools', await ask.post('/agents', customer.liveKey, { name: 'A', instruction: 'x', tools: [toolAt(url)] })],
      ['tools', await ask.patch(agent, customer.liveKey, { tools: [toolAt(url)] })],
    ] as const;
    for (const [field, response] of byField) {
      expectError(response, 400, 'MISSING_PARAMS');
      expect(response.json['message']).toMatch(
        new RegExp(`^${field}.* must not use port ${new URL(url).port}, because`),
      );
      expect(response.json['message']).toMatch(/Use port 443, 80 or another one that browsers do not block\.$/);
    }
    expect((await ask.get(agent, customer.liveKey)).json).not.toHaveProperty('webhook_url');
    expect(await service.database.calls.countDocuments({ accountId: customer.account._id })).toBe(0);
  });

  it.each(['https://example.com/', 'http://example.com/', 'https://example.com:8443/', 'http://example.com:3000/'])(
    'is not a URL like %s',
    async (url) => {
      const fields = { name: 'A', instruction: 'x', webhook_url: url, tools: [toolAt(url)] };
      expect((await ask.post('/agents', customer.liveKey, fields)).status).toBe(200);
    },
  );

  it('is not connected to if an old record contains it', async () => {
    const client = createWebhookClient({ config: egressConfig() });
    const post = (url: string) => client.post({ accountId: 'acct_1', url, body: '{}', headers: {} });
    expect(await post('http://127.0.0.1:25/')).toMatchObject({ delivered: false, error: 'blocked' });
    expect(await post('http://127.0.0.1:4/')).toMatchObject({ delivered: false, error: 'connection_refused' });
  });
});

describe('WEBHOOK_PORTS', () => {
  it('allows only the ports it names, without those of other protocols', async () => {
    const narrow = await startService({ worker: false, env: { WEBHOOK_PORTS: '443,8000-8999,20-26' } });
    try {
      const { liveKey } = await narrow.customer();
      const create = (url: string) =>
        managementOf(narrow).post('/agents', liveKey, { name: 'A', instruction: 'x', webhook_url: url });
      for (const url of ['https://example.com/', 'http://example.com:8000/', 'http://example.com:8999/']) {
        expect((await create(url)).status).toBe(200);
      }
      const ports = 'one of the ports 443, 8000-8999, 20-26';
      for (const [url, fault] of [
        ['http://example.com/', `${ports}, not 80. An operator can allow other ports with WEBHOOK_PORTS.`],
        ['http://example.com:9000/', `${ports}, not 9000. An operator can allow other ports with WEBHOOK_PORTS.`],
      ] as const) {
        const response = await create(url);
        expectError(response, 400, 'MISSING_PARAMS');
        expect(response.json['message']).toBe(`webhook_url must use ${fault}`);
      }
      const response = await create('http://example.com:25/');
      expectError(response, 400, 'MISSING_PARAMS');
      expect(response.json['message']).toMatch(`webhook_url must not use port 25, because`);
      expect(response.json['message']).toMatch(`Use ${ports}.`);
    } finally {
      await narrow.close();
    }
  });
});

describe('the list of blocked ports', () => {
  it('equals the list of fetch plus port 0', () => {
    // Reads the ports that Node's fetch blocks from its internals, because Node does not export this list.
    const { badPorts } = jest.requireActual<{ badPorts: string[] }>(
      '../../node_modules/undici/lib/web/fetch/constants.js',
    );
    const ours = Array.from({ length: 65_536 }, (_, port) => port).filter(isBadPort);
    expect(ours).toEqual([0, ...badPorts.map(Number)]);
  });
});
