import { ulid } from 'ulid';
import { createCallRequests } from '../../src/calls/call-requests.js';
import { startCall } from '../../src/calls/placing/start-call.js';
import { eventually } from '../support/http/harness.js';
import { startTelephoneStack, type TelephoneStack } from './support/telephone-stack';
import { decisionsOf } from './support/call-decisions.js';

/** A callee of the simulated carrier that answers and stays silent. */
const SILENT = '+12025550107';
const TOOL = {
  name: 'find_order',
  description: 'Looks up an order.',
  method: 'GET' as const,
  url: 'https://shop.example.com/orders',
  parameters: '{"type":"object","properties":{}}',
  headers: Array.from({ length: 10 }, (_, n) => ({ name: `X-${n}`, sealed: 's'.repeat(2_800) })),
};

let stack: TelephoneStack;
beforeAll(async () => {
  stack = await startTelephoneStack();
}, 120_000);
afterAll(() => stack.close());

const toolsOf = async (callId: string) =>
  (await stack.service.database.callRequests.findById(callId).lean())?.agent.tools;

it('a call keeps the tools of its agent, up to 256 KiB, only until it has ended', async () => {
  const customer = await stack.service.customer();
  const { callId, scripted } = await stack.placeCall(customer, SILENT, { tools: [TOOL] });
  expect(await toolsOf(callId)).toHaveLength(1);
  scripted.sink.fail(new Error('enough'));
  await stack.waitForEnd(callId);
  expect(await eventually(async () => (await toolsOf(callId)) === undefined)).toBe(true);
  const row = await stack.service.database.callRequests.findById(callId).lean();
  expect(row).toMatchObject({ toPhoneNumber: SILENT, agent: { instruction: customer.agent.instruction } });
  const { status, json } = await stack.service.request(`/calls/${callId}`, { key: customer.liveKey });
  expect({ status, instruction: json['instruction'] }).toEqual({
    status: 200,
    instruction: customer.agent.instruction,
  });
}, 60_000);

it('a call with too little time left to decide it is not stored', async () => {
  const { config, database } = stack.service;
  const customer = await stack.service.customer();
  const { callId, scripted } = await stack.placeCall(customer, SILENT);
  scripted.sink.fail(new Error('enough'));
  const stored = (await database.callRequests.findById(callId).lean())!;
  const requests = createCallRequests(database);
  const { givenUpCalls, clock } = decisionsOf(stack.service);
  const gateway = { start: () => Promise.reject(new Error('must not be called')) } as never;
  const late = { ...stored, _id: `call_${ulid()}` };
  await expect(
    startCall({ config, gateway, requests, givenUpCalls, clock }, late, Date.now() + 350),
  ).rejects.toMatchObject({
    code: 'SERVICE_UNAVAILABLE',
  });
  expect(await requests.find(late._id)).toBeNull();
}, 60_000);
