import { expectError, startService, type Customer, type Service } from '../../support/http/harness.js';
import { managementOf } from '../../support/http/management-support.js';

let service: Service;
let api: ReturnType<typeof managementOf>;
let customer: Customer;
let other: Customer;

beforeAll(async () => {
  service = await startService({ worker: false });
  api = managementOf(service);
  [customer, other] = await Promise.all([service.customer(0), service.customer(0)]);
});
afterAll(() => service.close());

async function newAgent(key = customer.liveKey): Promise<string> {
  const { json } = await api.post('/agents', key, { name: 'A', instruction: 'Be kind.' });
  return String(json['agent_id']);
}

describe('GET /agents/{agent_id}/numbers', () => {
  it('lists the numbers of the agent, oldest first, and no others', async () => {
    const [agentId, another] = [await newAgent(), await newAgent()];
    for (const [number, agent_id] of [
      ['+12025550171', agentId],
      ['+12025550172', another],
      ['+12025550170', agentId],
    ]) {
      await api.post('/phone_numbers', customer.liveKey, { phone_number: number, agent_id });
    }
    const listed = await api.get(`/agents/${agentId}/numbers`, customer.testKey);
    expect(listed.status).toBe(200);
    expect(listed.json).toEqual({
      data: ['+12025550171', '+12025550170'].map((phone_number) => ({
        phone_number,
        agent_id: agentId,
        active_agent_id: agentId,
        created_at: expect.any(String) as string,
      })),
      has_more: false,
    });
    expect((await api.get(`/agents/${await newAgent()}/numbers`, customer.liveKey)).json).toMatchObject({ data: [] });
  });

  it('responds to a foreign agent, and to a test agent in live mode, as to a missing one', async () => {
    const missing = 'agent_01JD3Q4Z6WX8Y2V7T5R9S1K0MN';
    for (const id of [await newAgent(other.liveKey), await newAgent(customer.testKey), missing]) {
      expectError(await api.get(`/agents/${id}/numbers`, customer.liveKey), 404, 'AGENT_NOT_FOUND');
    }
  });
});
