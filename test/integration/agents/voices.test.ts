import { LanguageList, VoiceList } from '../../../src/agents/voices/contract.js';
import { startService, type Customer, type Service } from '../../support/http/harness';

let service: Service;
let customer: Customer;

beforeAll(async () => {
  service = await startService();
  customer = await service.customer();
});
afterAll(() => service.close());

describe('GET /voices and GET /languages', () => {
  it('list what the agents of this service can speak', async () => {
    const voices = await service.request('/voices', { key: customer.liveKey });
    expect(voices.status).toBe(200);
    const list = VoiceList.parse(voices.json);
    expect(list.default_engine).toBe('offline-demo');
    expect(list.voices.map(({ voice }) => voice)).toEqual(['amber', 'cobalt', 'slate', 'copper']);
    expect(list.voices[0]?.engines).toContainEqual({ engine: 'offline-demo', languages: ['en-US'] });

    const languages = await service.request('/languages', { key: customer.testKey });
    expect(languages.status).toBe(200);
    const offline = LanguageList.parse(languages.json).languages.filter(({ engines }) =>
      engines.some(({ engine }) => engine === 'offline-demo'),
    );
    expect(offline.map(({ language }) => language)).toEqual(['en-US']);
  });

  it('need an API key and are read-only', async () => {
    for (const path of ['/voices', '/languages']) {
      expect((await service.request(path)).json).toMatchObject({ error_code: 'UNAUTHORIZED' });
      const posted = await service.request(path, { method: 'POST', key: customer.liveKey });
      expect(posted.json).toMatchObject({ error_code: 'METHOD_NOT_ALLOWED' });
    }
  });
});

describe('an agent whose engine is not configured', () => {
  const requestsOf = (agentId: string) => service.database.callRequests.countDocuments({ 'agent.agentId': agentId });

  async function agentWithUnconfiguredEngine(): Promise<string> {
    const { _id } = customer.agent;
    await service.database.agents.updateOne({ _id }, { engine: 'pipeline' });
    return _id;
  }

  it('places no live call, and the response names the field', async () => {
    const agentId = await agentWithUnconfiguredEngine();
    const answer = await service.place(customer.liveKey, { to_phone_number: '+12025550100', agent_id: agentId });
    expect(answer).toMatchObject({
      status: 400,
      json: {
        success: false,
        error_code: 'MISSING_PARAMS',
        message: 'engine: pipeline is not configured on this service; use one of offline-demo.',
      },
    });
    expect(await requestsOf(agentId)).toBe(0);
  });

  it('answers no inbound call', async () => {
    const agentId = await agentWithUnconfiguredEngine();
    const answer = await service.request(`/inbound_call?agent_id=${agentId}`, {
      method: 'POST',
      key: customer.liveKey,
      body: new URLSearchParams({ CallSid: `CA${'a'.repeat(32)}`, From: '+12025550143', To: '+12025550199' }),
    });
    expect(answer).toMatchObject({ status: 400, json: { error_code: 'MISSING_PARAMS' } });
    expect(await requestsOf(agentId)).toBe(0);
  });

  it('places test calls, which have their own engine', async () => {
    const agentId = await agentWithUnconfiguredEngine();
    const answer = await service.place(customer.testKey, { to_phone_number: '+12025550100', agent_id: agentId });
    expect(answer.status).toBe(200);
  });
});
