import { createChatHistory } from '../../src/voice/engines/pipeline/chat-history.js';
import { buildPrompt } from '../../src/voice/session/prompt.js';
import { expectError, startService, type Customer, type Service } from '../support/http/harness.js';
import { managementOf } from '../support/http/management-support.js';

const LONGEST = 'x'.repeat(32_768);
const toolsOf = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    name: `tool_${index}`,
    description: 'd'.repeat(1_000),
    method: 'GET',
    url: 'https://shop.example.com/orders',
    parameters: JSON.stringify({ type: 'object', properties: {}, description: 'p'.repeat(8_000) }),
  }));
const TOO_LONG = /^(instruction|tools): .* at most 65536 together\. Shorten them, or use fewer tools\.$/;

/** A cuneiform sign: four bytes, and four tokens. */
const COSTLY_SIGN = '𒀀';
const costlyTool = (index: number) => ({
  name: `dear_${index}`,
  description: 'Looks up an order.',
  method: 'GET',
  url: 'https://shop.example.com/orders',
  parameters: JSON.stringify({ type: 'object', properties: {}, description: COSTLY_SIGN.repeat(8_000) }),
});

function promptOf(instruction: string, inputParameters: Record<string, unknown>): string {
  return buildPrompt({
    callId: 'call_1',
    instruction,
    voice: 'amber',
    language: 'en-US',
    inputParameters,
    outputTemplate: {},
    direction: 'outbound',
    disclosesAi: true,
    voicemail: { action: 'continue' },
    tools: [],
  });
}

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

describe('an instruction and tools that cost many tokens', () => {
  it('are rejected when an agent is created or updated; the longest instruction or a few tools are accepted', async () => {
    const rejected = await create({ instruction: LONGEST, tools: toolsOf(16) });
    expectError(rejected, 400, 'MISSING_PARAMS', TOO_LONG);
    expect(rejected.json['fields']).toHaveProperty('tools');
    const made = await create({ instruction: '語'.repeat(10_000), tools: toolsOf(3) });
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

  it('are rejected in the instruction of a call, while an older agent stays usable', async () => {
    const agentId = String((await create({})).json['agent_id']);
    await service.database.agents.updateOne({ _id: agentId }, { $set: { tools: toolsOf(16), instruction: LONGEST } });
    const order = { to_phone_number: '+12025550123', agent_id: agentId };
    const before = await service.countCallRequests();
    const rejected = await service.place(customer.testKey, { ...order, instruction: LONGEST });
    expectError(rejected, 400, 'MISSING_PARAMS', /^instruction: /);
    expect(await service.countCallRequests()).toBe(before);
    expect((await ask.get(`/agents/${agentId}`, customer.liveKey)).status).toBe(200);
    expect((await ask.patch(`/agents/${agentId}`, customer.liveKey, { name: 'B' })).status).toBe(200);
    await service.accounts.setLimits(customer.account._id, { concurrentCalls: 0 });
    expectError(await service.place(customer.liveKey, order), 429, 'CONCURRENCY_LIMIT_EXCEEDED');
  });

  it('do not pass the limit together when they are updated at once', async () => {
    for (let round = 0; round < 5; round++) {
      const path = `/agents/${String((await create({})).json['agent_id'])}`;
      const changes = [{ instruction: LONGEST }, { tools: toolsOf(6) }, { tools: toolsOf(5) }];
      const responses = await Promise.all(changes.map((change) => ask.patch(path, customer.liveKey, change)));
      const { instruction, tools = [] } = (await ask.get(path, customer.liveKey)).json as {
        instruction: string;
        tools?: unknown[];
      };
      expect([instruction === LONGEST, tools.length > 0]).not.toEqual([true, true]);
      for (const { status } of responses) expect([200, 400]).toContain(status);
    }
  });

  it('have a limit after parameters are filled in', () => {
    const prompt = promptOf('{{a}}'.repeat(6_500), { a: 'v'.repeat(500) });
    expect(prompt.length).toBeLessThan(100_000);
  });
});

/** Models count each byte of a rare script as a token; an English word is one token. */
describe('text in scripts that cost many tokens', () => {
  it('is rejected by its bytes when an agent is created or updated', async () => {
    const made = await create({ instruction: 'Hi.', tools: [costlyTool(0)] });
    expect(made.status).toBe(200);
    const path = `/agents/${String(made.json['agent_id'])}`;
    for (const fields of [{ instruction: COSTLY_SIGN.repeat(16_385) }, { tools: [0, 1, 2].map(costlyTool) }]) {
      expectError(await create(fields), 400, 'MISSING_PARAMS', TOO_LONG);
      expectError(await ask.patch(path, customer.liveKey, fields), 400, 'MISSING_PARAMS', TOO_LONG);
    }
  });

  it('is rejected in the instruction and both kinds of parameters of a call', async () => {
    const order = { to_phone_number: '+12025550123', instruction: 'Hi.' };
    const before = await service.countCallRequests();
    const costly = JSON.stringify({ a: COSTLY_SIGN.repeat(4_100) });
    for (const [field, value] of [
      ['instruction', COSTLY_SIGN.repeat(16_400)],
      ['input_parameters', costly],
      ['output_parameters', costly],
    ] as const) {
      const rejected = await service.place(customer.testKey, { ...order, [field]: value });
      expectError(rejected, 400, 'MISSING_PARAMS', new RegExp(`^${field}.* at most \\d+ (bytes in UTF-8|together)`));
    }
    expect(await service.countCallRequests()).toBe(before);
    expectError(await create({ output_parameters: costly }), 400, 'MISSING_PARAMS', /^output_parameters.* bytes/);
  });

  it('is limited by its bytes after parameters are filled in, and in the chat history', () => {
    const prompt = promptOf('{{a}}'.repeat(200), { a: COSTLY_SIGN.repeat(500) });
    expect(Buffer.byteLength(prompt)).toBeLessThan(30_000);
    const history = createChatHistory('Hi.');
    for (let n = 0; n < 100; n++) history.addCaller(COSTLY_SIGN.repeat(1_000));
    const sizes = history.messages().map(({ content }) => Buffer.byteLength(content));
    expect(sizes.reduce((sum, bytes) => sum + bytes, 0)).toBeLessThan(70_000);
  });
});
