import { toolDefinitions } from '../../src/voice/tools/definitions.js';
import { createChatHistory } from '../../src/voice/engines/pipeline/chat-history.js';
import { buildPrompt } from '../../src/voice/session/prompt.js';
import type { EngineCall } from '../../src/voice/engines/port.js';
import { startReceiver } from '../integration/webhooks/support/receiver';
import { eventually, openMediaFixture } from '../integration/voice/support/media-fixture';
import { createScriptedEngine, type ScriptedCall } from '../integration/voice/support/scripted-engine';
import { createAccounts } from '../../src/identity/accounts/accounts.js';
import { expectError, startService, type Customer, type Service } from '../support/http/harness.js';
import { managementOf } from '../support/http/management-support.js';
import { openStage } from '../support/pipeline-stage';

const bytesOf = (value: unknown) => Buffer.byteLength(typeof value === 'string' ? value : JSON.stringify(value));

/** JSON in which each number becomes six times as long when the number is parsed and written again. */
const growing = (length: number) => Array.from({ length }, () => '9e20').join(',');
/** A schema may have at most 1,000 entries in its lists. */
const GROWING_SCHEMA = growing(990);
/** JSON in which each key becomes a line of the prompt. The line is many times as long as the key. */
const CROWDED = `{${Array.from({ length: 1_700 }, (_, index) => `"${index.toString(36)}":""`).join(',')}}`;

const GROWING_VALUES = `{${Array.from({ length: 1_400 }, (_, index) => `"${index.toString(36)}":9e20`).join(',')}}`;

const CALL: EngineCall = {
  callId: 'call_1',
  instruction: 'Hi.',
  voice: 'amber',
  language: 'en-US',
  inputParameters: {},
  outputTemplate: {},
  direction: 'outbound',
  disclosesAi: true,
  voicemail: { action: 'continue' },
  tools: [],
};

describe('tool definitions', () => {
  let service: Service;
  let customer: Customer;
  let ask: ReturnType<typeof managementOf>;
  beforeAll(async () => {
    service = await startService({ worker: false });
    customer = await service.customer(100_000_000);
    ask = managementOf(service);
  }, 120_000);
  afterAll(() => service.close());

  const toolOf = (index: number) => ({
    name: `tool_${index}`,
    description: 'Looks up.',
    method: 'GET' as const,
    url: 'https://shop.example.com/orders',
    parameters: `{"type":"object","properties":{"a":{"enum":[${GROWING_SCHEMA}]}}}`,
  });

  it('are measured as the model receives them, not as they were written', async () => {
    const tools = Array.from({ length: 8 }, (_, index) => toolOf(index));
    expect(bytesOf(toolDefinitions({ tools }, false))).toBeGreaterThan(2 * 65_536);
    const rejected = await ask.post('/agents', customer.liveKey, { name: 'A', instruction: 'Hi.', tools });
    expectError(rejected, 400, 'MISSING_PARAMS', /^tools: .* at most 65536 together\. /);
    const made = await ask.post('/agents', customer.liveKey, { name: 'A', instruction: 'Hi.', tools: [toolOf(0)] });
    expect(made.status).toBe(200);
  });

  describe('and prompt fields', () => {
    const order = { to_phone_number: '+12025550123', instruction: 'Hi.' };

    it.each([
      ['instruction', { instruction: '{{q}}'.repeat(6_500) }],
      ['input_parameters', { instruction: '{{a}}'.repeat(6_500), input_parameters: '{"a":"b"}' }],
      ['input_parameters', { input_parameters: GROWING_VALUES }],
      ['output_parameters', { output_parameters: CROWDED }],
    ])('are rejected when %s makes the prompt too long, with the remedy', async (field, fields) => {
      const before = await service.countCallRequests();
      const rejected = await service.place(customer.testKey, { ...order, ...fields });
      expectError(
        rejected,
        400,
        'MISSING_PARAMS',
        new RegExp(`^${field}: .* at most \\d+ bytes in UTF-8.*(Use|Shorten)`),
      );
      expect(rejected.json['fields']).toHaveProperty(field);
      expect(await service.countCallRequests()).toBe(before);
    });

    it('are rejected in an agent’s template', async () => {
      const rejected = await ask.post('/agents', customer.liveKey, {
        name: 'A',
        instruction: 'Hi.',
        output_parameters: CROWDED,
      });
      expectError(rejected, 400, 'MISSING_PARAMS', /^output_parameters: /);
    });
  });
});

describe('a prompt', () => {
  it('is bounded when its parts were stored earlier or are unknown at the request', () => {
    const crowded = JSON.parse(CROWDED) as Record<string, string>;
    const prompt = buildPrompt({
      ...CALL,
      instruction: '{{q}}'.repeat(6_553),
      inputParameters: crowded,
      outputTemplate: crowded,
    });
    expect(bytesOf(prompt)).toBeLessThan(100_000);
    expect(prompt).toContain('(the rest is left out)');
  });

  it('is bounded when a session is resumed after its stream was lost', () => {
    const turns = Array.from({ length: 12_000 }, (_, n) => ({
      speaker: 'caller' as const,
      text: 'a',
      startMs: n,
      endMs: n,
    }));
    const values = Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`v${n}`, 'x'.repeat(500)]));
    expect(bytesOf(buildPrompt({ ...CALL, resume: { turns, values } }))).toBeLessThan(60_000);
  });
});

describe('the chat history', () => {
  it('counts the arguments of tool calls towards its limit', () => {
    const history = createChatHistory('Hi.');
    for (let n = 0; n < 120; n++) {
      const request = { id: `c${n}`, name: 'note', arguments: JSON.stringify({ text: 'a'.repeat(16_000) }) };
      const asked = { role: 'assistant' as const, content: '', toolRequests: [request] };
      history.addPart({ messages: () => [asked, { role: 'tool', toolRequestId: request.id, content: '"ok"' }] });
    }
    expect(bytesOf(history.messages())).toBeLessThan(70_000);
  });
});

describe('tool results', () => {
  it('make a model finish a reply without tools once they are long in total', async () => {
    jest.useFakeTimers();
    const stage = await openStage();
    try {
      let from = stage.requests.length;
      await stage.says('When is it?');
      const sent: number[] = [];
      while (stage.requests.length > from) {
        from = stage.requests.length;
        const asked = stage.lastRequest(from);
        sent.push(asked.messages.reduce((sum, text) => sum + bytesOf(text), 0));
        const requests = Array.from({ length: 10 }, (_, n) => ({
          id: `c${from}-${n}`,
          name: 'look_up',
          arguments: '{}',
        }));
        asked.respond(asked.mayCallTools ? '' : 'Soon.', ...(asked.mayCallTools ? requests : []));
        for (let n = 0; n < 10; n++) {
          await stage.pass(40);
          stage.tools.at(-1)?.finish({ ok: true, result: 'x'.repeat(8_192) });
        }
        await stage.pass(40);
      }
      expect(Math.max(...sent)).toBeLessThan(60_000);
      await stage.pass(1_000);
      expect(stage.said().at(-1)).toBe('agent: Soon.');
    } finally {
      await stage.close();
      jest.useRealTimers();
    }
  });

  it('of one call are limited in total, whatever the engine', async () => {
    const engine = createScriptedEngine();
    const media = await openMediaFixture({ engine: engine.factory });
    const server = await startReceiver((response) => response.end(`[${growing(1_600)}]`));
    try {
      const accountId = (await createAccounts(media.database).create({ name: 'Acme' }))._id;
      const parameters = '{"type":"object","properties":{}}';
      const tool = { name: 'look_up', description: 'Looks up.', method: 'POST' as const, url: server.url, parameters };
      const placed = await media.placeCall({ accountId, agent: { tools: [tool] } });
      const line = await media.openLine(placed);
      await eventually(() => engine.calls.has(placed.callId));
      const { sink } = engine.calls.get(placed.callId) as ScriptedCall;
      let bytes = 0;
      for (let n = 0; n < 100; n++) bytes += bytesOf(await sink.runTool({ name: 'look_up', arguments: {} }));
      expect(server.received).toHaveLength(100);
      expect(bytes).toBeLessThan(90_000);
      line.hangUp();
      await line.closed;
    } finally {
      await server.close();
      await media.close();
    }
  });
});
