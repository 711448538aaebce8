import { startService, type Service } from './harness.js';
import { managementOf } from './management-support.js';

describe('GET /agents/{agent_id}/numbers', () => {
  let service: Service;
  beforeAll(async () => {
    service = await startService({ worker: false });
  });
  afterAll(() => service.close());

  it('lists the numbers that lead to the agent', async () => {
    const ask = managementOf(service);
    const customer = await service.customer(0);
    const path = '/agents/agent_01JD3Q4Z6WX8Y2V7T5R9S1K0MN/numbers';
    const answer = await ask.get(path, customer.liveKey);
    expect(answer.status).toBe(200);
    expect(answer.json).toEqual({ data: [], has_more: false });
  });
});
