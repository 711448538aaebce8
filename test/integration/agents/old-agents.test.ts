import { agentView } from '../../../src/agents/agent-view.js';
import { createAgents } from '../../../src/agents/agents.js';
import { snapshotOfAgent } from '../../../src/agents/agent-snapshot.js';
import type { Database } from '../../../src/database.js';
import { openTestDatabase } from '../../support/store/test-database.js';

/**
 * An agent as an earlier version stored it: without a mode, with an engine that no longer exists, and with values that
 * would be rejected today.
 */
const OLD = {
  _id: 'agent_01JD3Q4Z6WX8Y2V7T5R9S1K0MN',
  accountId: 'acct_1',
  name: 'Front\u0007desk',
  instruction: 'Ask.\u0000',
  voice: 'jade',
  language: 'en-us',
  outputParameters: `{"a":"${'x'.repeat(16_370)}😀"}`,
  maxDurationSeconds: 20,
  ringTimeoutSeconds: 200,
  webhookUrl: 'https://example.com/with space',
  engine: 'steam-organ',
  transferNumbers: Array.from({ length: 30 }, () => '+12025550142'),
  tools: [
    {
      name: 'look_up',
      description: 'Looks up.',
      method: 'GET',
      url: 'https://example.com/orders',
      parameters: '{"type":"object","properties":{"a":{"$ref":"#"}}}',
      headers: [{ name: 'X-Secret', sealed: 'v1.x.y' }],
    },
  ],
  createdAt: new Date('2026-01-01T00:00:00Z'),
  updatedAt: new Date('2026-01-01T00:00:00Z'),
};

describe('an agent that was stored before today’s validation', () => {
  let database: Database;
  beforeAll(async () => {
    database = await openTestDatabase('old-agents');
  });
  afterAll(() => database.close());
  beforeEach(async () => {
    await database.agents.deleteMany({});
    await database.agents.collection.insertOne(OLD as object as { _id: never });
  });

  it('is read and shown unchanged', async () => {
    const agent = await createAgents(database).find(OLD._id);
    expect(agentView(agent ?? fail())).toMatchObject({
      agent_id: OLD._id,
      mode: 'live',
      name: OLD.name,
      engine: 'steam-organ',
      max_duration_seconds: 20,
      output_parameters: OLD.outputParameters,
      transfer_numbers: OLD.transferNumbers,
      tools: [{ name: 'look_up', header_names: ['X-Secret'] }],
    });
  });

  it('is copied into a call with its encrypted headers and without the fields that a call stores separately', async () => {
    const agent = await createAgents(database).find(OLD._id);
    const snapshot = snapshotOfAgent(agent ?? fail());
    expect(snapshot).toMatchObject({ agentId: OLD._id, engine: 'steam-organ', voice: 'jade', tools: OLD.tools });
    expect(Object.keys(snapshot).toSorted()).toEqual([
      'agentId',
      'engine',
      'instruction',
      'language',
      'mode',
      'name',
      'outputParameters',
      'tools',
      'transferNumbers',
      'voice',
    ]);
  });

  it('can be changed in one field and keeps the others', async () => {
    const agents = createAgents(database);
    expect(await agents.update(OLD._id, { name: 'Desk' })).toMatchObject({
      name: 'Desk',
      instruction: OLD.instruction,
      engine: 'steam-organ',
      ringTimeoutSeconds: 200,
    });
    await expect(agents.update(OLD._id, { ringTimeoutSeconds: 200 })).rejects.toMatchObject({
      code: 'MISSING_PARAMS',
      message: 'ring_timeout_seconds must be a whole number from 5 to 120.',
    });
  });
});

function fail(): never {
  throw new Error('the agent is not found');
}
