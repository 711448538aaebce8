import { createErasures } from '../../src/calls/erasure/create-erasures.js';
import { startService, type Customer, type Service } from '../support/http/harness.js';
import { managementOf } from '../support/http/management-support.js';
import { newCallId } from '../support/store/test-database.js';

const NUMBER = '+12025550178';
const VALUE = 12_025_550_178;

let service: Service;
let customer: Customer;
let ask: ReturnType<typeof managementOf>;
beforeAll(async () => {
  service = await startService();
  ask = managementOf(service);
});
beforeEach(async () => {
  customer = await service.customer();
});
afterAll(() => service.close());

const erase = () =>
  service.withClient((client) => {
    const { config, database, gateway } = service;
    return createErasures({ config, database, gateway, client }).numbers.erase(NUMBER);
  });

const toolWith = (properties: object, name = 'look_up') => ({
  name,
  description: 'Looks up an office.',
  method: 'POST',
  url: 'https://shop.example.com/offices',
  parameters: JSON.stringify({ type: 'object', properties }),
});

async function newAgent(fields: object): Promise<string> {
  const agent = { name: 'Desk', instruction: 'Be kind.', ...fields };
  const { status, json } = await ask.post('/agents', customer.liveKey, agent);
  expect({ status, json }).toMatchObject({ status: 200 });
  return String(json['agent_id']);
}

const placeCall = (agentId: string) =>
  ask.post('/outbound_call', customer.liveKey, { to_phone_number: '+12025550106', agent_id: agentId });

describe('after the erasure of a number', () => {
  it('an agent that has the number as a JSON number still takes calls', async () => {
    const agentId = await newAgent({
      output_parameters: `{ "office": ${VALUE}, "note":"call ${NUMBER}", "ok" : false}`,
      tools: [
        toolWith({ office: { type: 'integer', const: VALUE, minimum: VALUE }, n: { type: 'string' } }),
        toolWith({ [`n${VALUE}`]: { type: 'string', enum: [String(VALUE)] } }, `ask_${VALUE}`),
      ],
    });
    expect(await erase()).toMatchObject({ invalidAgents: [], left: {} });

    const { status, json } = await ask.get(`/agents/${agentId}`, customer.liveKey);
    expect({ status, json }).toMatchObject({
      status: 200,
      json: {
        output_parameters: '{ "office": 0, "note":"call erased-number", "ok" : false}',
        tools: [
          toolWith({ office: { type: 'integer', const: 0, minimum: 0 }, n: { type: 'string' } }),
          toolWith({ nerased_number: { type: 'string', enum: ['erased-number'] } }, 'ask_erased_number'),
        ],
      },
    });
    expect((await placeCall(agentId)).status).toBe(200);
    expect((await ask.get('/agents', customer.liveKey)).status).toBe(200);
    expect((await ask.patch(`/agents/${agentId}`, customer.liveKey, { tools: json['tools'] })).status).toBe(200);
  });

  it('an agent that a rule no longer allows is named', async () => {
    const agentId = await newAgent({ output_parameters: JSON.stringify({ office: `${NUMBER}|${VALUE}` }) });
    await newAgent({ output_parameters: JSON.stringify({ office: `${NUMBER}|none` }) });
    expect(await erase()).toMatchObject({ invalidAgents: [agentId] });
  });

  it('no part of it is left of a conversation in which it was said in several turns', async () => {
    const callId = newCallId();
    const _id = callId as never;
    const turns = [
      { speaker: 'caller', text: 'Call me at +1 202' },
      { speaker: 'agent', text: 'I am listening.' },
      { speaker: 'caller', text: '5550178, please.' },
    ];
    const transcription = turns.map(({ speaker, text }) => `${speaker}: ${text}`).join('\n');
    const { calls, conversationResults, webhookDeliveries } = service.database;
    const ofAccount = { _id, accountId: customer.account._id };
    await calls.collection.insertOne({ ...ofAccount, status: 'COMPLETED', transcription });
    await conversationResults.collection.insertOne({ _id, turns });
    await webhookDeliveries.collection.insertOne({ _id, callId, body: JSON.stringify({ transcription }) });

    expect(await erase()).toMatchObject({ mentions: [callId] });
    const erased = 'caller: Call me at erased-number\nagent: I am listening.\ncaller: erased-number, please.';
    expect(await calls.findById(callId).lean()).toMatchObject({ transcription: erased });
    expect((await conversationResults.findById(callId).lean())?.turns.map(({ text }) => text)).toEqual([
      'Call me at erased-number',
      'I am listening.',
      'erased-number, please.',
    ]);
    expect(await webhookDeliveries.findById(callId).lean()).toMatchObject({
      body: JSON.stringify({ transcription: erased }),
    });
    expect((await erase()).mentions).toEqual([]);
  });

  it('all JSON of a call can be read', async () => {
    const callId = newCallId();
    const _id = callId as never;
    const inner = JSON.stringify({ office: VALUE, rounded: '1.50', list: [VALUE, `${VALUE}0`] });
    const { callRequests, calls, conversationResults, webhookDeliveries } = service.database;
    const ofAccount = { _id, accountId: customer.account._id };
    await callRequests.collection.insertOne({ ...ofAccount, inputParameters: inner });
    await calls.collection.insertOne({
      ...ofAccount,
      status: 'COMPLETED',
      inputParameters: inner,
      outputParameters: inner,
    });
    await conversationResults.collection.insertOne({
      _id,
      toolCalls: [{ name: 'look_up', arguments: inner, result: `{"cut":${VALUE}` }],
      values: inner,
    });
    const body = `{"cost": 1.50, "big": 12345678901234567890123, "input_parameters": ${JSON.stringify(inner)}}`;
    await webhookDeliveries.collection.insertOne({ _id, callId, body });

    expect(await erase()).toMatchObject({ mentions: [callId] });
    const erased = `{"office":"erased-number","rounded":"1.50","list":["erased-number","${VALUE}0"]}`;
    const call = { inputParameters: erased };
    expect(await callRequests.findById(callId).lean()).toMatchObject(call);
    expect(await calls.findById(callId).lean()).toMatchObject({ ...call, outputParameters: erased });
    expect(await conversationResults.findById(callId).lean()).toMatchObject({
      toolCalls: [{ arguments: erased, result: '{"cut":erased-number' }],
      values: erased,
    });
    expect(await webhookDeliveries.findById(callId).lean()).toMatchObject({
      body: `{"cost": 1.50, "big": 12345678901234567890123, "input_parameters": ${JSON.stringify(erased)}}`,
    });
    expect((await erase()).mentions).toEqual([]);
  });
});
