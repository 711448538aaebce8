import type { AgentSnapshot } from '../../../src/agents/agent-snapshot.js';
import { createAgents } from '../../../src/agents/agents.js';
import { openToolHeaders } from '../../../src/agents/tool-headers.js';
import type { CallRequestDocument } from '../../../src/calls/call-request-model.js';
import { createSecretBox } from '../../../src/platform/secrets/secret-box.js';
import { expectError, type Customer, type ServiceResponse } from '../../support/http/harness.js';
import { createBrowser } from '../../support/http/portal-support';
import { useWebStack, type WebStack } from './web-stack';

jest.setTimeout(120_000);

let stack: WebStack;
let customer: Customer;
useWebStack((started) => ({ stack, customer } = started));

const DRAFT = { name: 'Front desk', instruction: 'Ask for the day.' };
const TOOL = {
  name: 'find_slot',
  description: 'Finds a free slot.',
  method: 'GET' as const,
  url: 'https://example.com/slots',
  parameters: '{"type":"object","properties":{}}',
};
const SECRET = { Authorization: 'Bearer of-the-customer' };

const ask = (key: string, body: unknown) => stack.request(key, body);

/** Starts a call and returns the agent that it uses. */
async function agentOf(key: string, body: unknown): Promise<AgentSnapshot> {
  const { callId } = await stack.create(key, body);
  return (await stack.service.database.callRequests.findById(callId).lean<CallRequestDocument>())!.agent;
}

/** Creates an agent whose tool has a secret header. */
async function agentWithTool(key = customer.liveKey): Promise<string> {
  const { status, json, text } = await stack.service.request('/agents', {
    method: 'POST',
    key,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...DRAFT, tools: [{ ...TOOL, headers: SECRET }] }),
  });
  if (status !== 200) throw new Error(text);
  return String(json['agent_id']);
}

const stored = async (agentId: string) => (await createAgents(stack.service.database).find(agentId))!;

const paramsOf = ({ json }: ServiceResponse) =>
  (json['errors'] as { param: string }[]).map(({ param }) => param).toSorted();

describe('a call with a draft', () => {
  it('uses its fields, and stores no agent', async () => {
    const before = await stack.service.database.agents.countDocuments();
    const call = await stack.talk(customer.testKey, {
      agent: { ...DRAFT, first_message: 'Good morning.', max_duration_seconds: 90, tools: [TOOL] },
    });
    expect(call.scripted.call).toMatchObject({ agentName: 'Front desk', instruction: 'Ask for the day.' });
    expect(call.scripted.call.tools.map(({ name }) => name)).toContain('find_slot');
    expect(await stack.service.database.callRequests.findById(call.callId).lean()).toMatchObject({
      agent: { agentId: expect.stringMatching(/^agent_tmp_/), firstMessage: 'Good morning.', voice: 'amber' },
      maxDurationSeconds: 90,
    });
    call.line.closeTab();
    const ended = await stack.ended(call.callId);
    expect(ended.agentName).toBe('Front desk');
    expect(await stack.service.database.agents.countDocuments()).toBe(before);
  });

  it('of a stored agent has its id and its secret headers, and leaves it unchanged', async () => {
    const agentId = await agentWithTool();
    const before = await stored(agentId);
    const agent = {
      ...DRAFT,
      instruction: 'Ask for the hour.',
      tools: [{ ...TOOL, url: 'https://example.com/hours' }],
    };
    const used = await agentOf(customer.liveKey, { agent_id: agentId, agent });
    expect(used).toMatchObject({ agentId, name: 'Front desk', instruction: 'Ask for the hour.' });
    const box = createSecretBox(stack.service.config.encryptionKeys);
    expect(openToolHeaders(used.tools![0]!, customer.account._id, box)).toEqual(SECRET);
    expect(await stored(agentId)).toEqual(before);
  });

  it('sends no secret header to another server, and none of another agent', async () => {
    const agentId = await agentWithTool();
    const elsewhere = { ...TOOL, url: 'https://attacker.example/slots' };
    const rejected = await ask(customer.liveKey, { agent_id: agentId, agent: { ...DRAFT, tools: [elsewhere] } });
    expectError(rejected, 400, 'MISSING_PARAMS', /url now leads to another server/);
    expect(paramsOf(rejected)).toEqual(['agent.tools.0.headers']);
    const agent = { ...DRAFT, tools: [{ ...elsewhere, headers: null }] };
    expect((await agentOf(customer.liveKey, { agent_id: agentId, agent })).tools).toEqual([elsewhere]);
    const used = await agentOf(customer.liveKey, { agent: { ...DRAFT, tools: [TOOL] } });
    expect(used.tools).toEqual([TOOL]);
  });

  it('of a live agent is rejected for a test key, which could send its secrets to another path', async () => {
    const [agentId, ofTest] = [await agentWithTool(), await agentWithTool(customer.testKey)];
    const body = { agent_id: agentId, agent: { ...DRAFT, tools: [TOOL] } };
    expectError(await ask(customer.testKey, body), 403, 'FORBIDDEN', /test key cannot change a live agent/);
    expect((await ask(customer.testKey, { agent_id: agentId })).status).toBe(200);
    expect((await ask(customer.testKey, { ...body, agent_id: ofTest })).status).toBe(200);
    expectError(await ask(customer.liveKey, { ...body, agent_id: ofTest }), 404, 'AGENT_NOT_FOUND');
  });

  it('of a live agent can be tried in test mode by a member, who may change the agent, too', async () => {
    const member = createBrowser(stack.service);
    await member.signUp();
    const { json } = await member.post('/agents?mode=live', DRAFT);
    const body = { agent_id: json['agent_id'], agent: { ...DRAFT, instruction: 'Ask for the hour.' } };
    expect((await member.post('/web_calls?mode=test', body)).status).toBe(200);
  });

  it('of a live agent stays a live agent when a member tries it in test mode', async () => {
    const { database, config } = stack.service;
    const of = await stored(await agentWithTool());
    const given = { ...DRAFT, voice: 'amber', language: 'en-US', accountId: customer.account._id };
    const draft = await createAgents(database, config).draft({ ...given, mode: 'test', of });
    expect(draft).toMatchObject({ _id: of._id, mode: 'live' });
  });

  it('reports all its faults under agent, as a new agent would have them', async () => {
    const faulty = { instruction: '', max_duration_seconds: 1, tools: [{ ...TOOL, name: 'end_call' }] };
    const response = await ask(customer.testKey, { agent: faulty });
    expectError(response, 400, 'MISSING_PARAMS');
    expect(paramsOf(response)).toEqual([
      'agent.instruction',
      'agent.max_duration_seconds',
      'agent.name',
      'agent.tools.0.name',
    ]);
    for (const agent of [{ ...DRAFT, sk_live_secret: 1 }, 'agent', []]) {
      const wrong = await ask(customer.testKey, { agent });
      expectError(wrong, 400, 'MISSING_PARAMS', /^agent: must be an object with these fields only: name, instruction/);
      expect(wrong.text).not.toContain('sk_live_secret');
    }
    const unusable = { ...DRAFT, voice: 'unknown', transfer_numbers: ['+911'], phone_number: '+12025550177' };
    expect(paramsOf(await ask(customer.testKey, { agent: unusable }))).toEqual([
      'agent.phone_number',
      'agent.transfer_numbers.0',
      'agent.voice',
    ]);
    const none = await ask(customer.testKey, {});
    expectError(none, 400, 'MISSING_PARAMS', /^agent_id, agent or instruction is required\.$/);
  });
});

describe('the audit log', () => {
  const entriesOf = (accountId: string) => stack.service.database.auditEntries.find({ accountId }).lean();
  const countsOf = (accountId: string) =>
    stack.service.database.rateLimits.find({ key: new RegExp(`:${accountId}:(live|test):`) }).lean();

  it('says who started a call with a draft, without the draft, and not who called a stored agent', async () => {
    const caller = await stack.service.customer();
    const agentId = await agentWithTool(caller.liveKey);
    const body = { agent_id: agentId, agent: { ...DRAFT, tools: [{ ...TOOL, headers: SECRET }] } };
    const created = (await entriesOf(caller.account._id)).map(({ action }) => action);
    expectError(await ask(caller.liveKey, { ...body, webhook_url: 'ftp://example.com' }), 400, 'MISSING_PARAMS');
    await stack.create(caller.liveKey, { agent_id: agentId });
    const { callId } = await stack.create(caller.liveKey, body);
    const entries = await entriesOf(caller.account._id);
    expect(entries.map(({ action }) => action)).toEqual([...created, 'createWebCall']);
    const entry = entries.at(-1)!;
    expect(entry).toMatchObject({ mode: 'live', actorKind: 'key', target: callId });
    expect(JSON.stringify(entry)).not.toMatch(/of-the-customer|Ask for the day|Front desk|find_slot|example\.com/);
  });

  it('limits calls with drafts apart from changes', async () => {
    const caller = await stack.service.customer();
    const { _id: accountId } = caller.account;
    const useUp = (counted: string, points: number) =>
      stack.service.database.rateLimits.updateOne(
        { key: `${counted}:${accountId}:test:key` },
        { $set: { points, expire: new Date(Date.now() + 86_400_000) } },
        { upsert: true },
      );
    await useUp('changes', 300);
    await useUp('drafts', 399);
    await stack.create(caller.testKey, { agent: DRAFT });
    const counts = await countsOf(accountId);
    expect(Object.fromEntries(counts.map(({ key, points }) => [key.split(':')[0], points]))).toEqual({
      changes: 300,
      drafts: 400,
    });
    const rejected = await ask(caller.testKey, { agent: DRAFT });
    expectError(rejected, 429, 'RATE_LIMIT_EXCEEDED', /keys have made 400 calls with drafts of agents in test mode/);
    expect(Number(rejected.headers.get('retry-after'))).toBeGreaterThan(3_600);
    expect((await ask(caller.testKey, { instruction: 'Ask for the day.' })).status).toBe(200);
  });
});
