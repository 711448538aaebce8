import { promptFor } from '../../src/voice/session/prompt.js';
import { expectError, startService, type Customer, type Service } from '../http/harness.js';
import { managementOf } from '../http/management-support.js';

const LONGEST = 'x'.repeat(32_768);
const toolsOf = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    name: `tool_${index}`,
    description: 'd'.repeat(1_000),
    method: 'GET',
    url: 'https://shop.example.com/orders',
    parameters: JSON.stringify({ type: 'object', properties: {}, description: 'p'.repeat(8_000) }),
  }));
const TOO_LONG = /^(instruction|tools): .* at most 65536 characters together .* Shorten them, or use fewer tools\.$/;

let service: Service;
let customer: Customer;
let ask: ReturnType<typeof managementOf>;
beforeAll(async () => {
  service = await startService({ worker: false });
  customer = await service.customer(100_000_000);
  ask = managementOf(service);
}, 120_000);
afterAll(() => service.close());

const create = (fields: object) => ask.post('/agents', customer.liveKey, { name: 'A', instruction: 'Hi.', ...fields });

describe('an instruction and tools that are dear to read', () => {
  it('are refused when an agent is made or changed; the longest instruction and some tools are not', async () => {
    const refused = await create({ instruction: LONGEST, tools: toolsOf(16) });
    expectError(refused, 400, 'MISSING_PARAMS', TOO_LONG);
    expect(refused.json['fields']).toHaveProperty('tools');
    const made = await create({ instruction: LONGEST.replaceAll('x', '語'), tools: toolsOf(3) });
    expect(made.status).toBe(200);
    const id = String(made.json['agent_id']);
    expectError(
      await ask.patch(`/agents/${id}`, customer.liveKey, { tools: toolsOf(4) }),
      400,
      'MISSING_PARAMS',
      TOO_LONG,
    );
    const short = await ask.patch(`/agents/${id}`, customer.liveKey, { instruction: 'Hi.', tools: toolsOf(7) });
    expect(short.status).toBe(200);
    const back = await ask.patch(`/agents/${id}`, customer.liveKey, { instruction: LONGEST });
    expectError(back, 400, 'MISSING_PARAMS', /^instruction: /);
  });

  it('are refused when a call brings its own instruction; an agent from before stays usable', async () => {
    const agentId = String((await create({})).json['agent_id']);
    await service.database.agents.updateOne({ _id: agentId }, { $set: { tools: toolsOf(16), instruction: LONGEST } });
    const order = { to_phone_number: '+12025550123', agent_id: agentId };
    const before = await service.callsAskedFor();
    const refused = await service.place(customer.testKey, { ...order, instruction: LONGEST });
    expectError(refused, 400, 'MISSING_PARAMS', /^instruction: /);
    expect(await service.callsAskedFor()).toBe(before);
    expect((await ask.get(`/agents/${agentId}`, customer.liveKey)).status).toBe(200);
    expect((await ask.patch(`/agents/${agentId}`, customer.liveKey, { name: 'B' })).status).toBe(200);
    await service.accounts.setLimits(customer.account._id, { concurrentCalls: 0 });
    expectError(await service.place(customer.liveKey, order), 429, 'CONCURRENCY_LIMIT_EXCEEDED');
  });

  it('do not grow without bound by values that are filled in', () => {
    const prompt = promptFor({
      callId: 'call_1',
      instruction: '{{a}}'.repeat(6_500),
      voice: 'amber',
      language: 'en-US',
      inputParameters: { a: 'v'.repeat(500) },
      outputTemplate: {},
      direction: 'outbound',
      disclosesAi: true,
      voicemail: { action: 'continue' },
      tools: [],
    });
    expect(prompt.length).toBeLessThan(100_000);
  });
});
