import { healthOfCall } from '../../src/voice/engines/chain/pipeline-chains.js';
import { createProviderHealth } from '../../src/voice/engines/chain/provider-health.js';

const LLM = { stage: 'llm', number: 1 } as const;
const VOICE = { stage: 'tts', number: 1 } as const;

describe('the failures of a provider', () => {
  it('open its circuit for all calls', () => {
    const health = createProviderHealth();
    const ofCall = healthOfCall(health, { keyterms: ['Callwright'] });
    for (let failures = 0; failures < 2; failures += 1) ofCall.record(LLM, 'failed');
    expect(healthOfCall(health).isOpen(LLM)).toBe(true);
  });

  it('do not if the agent chose the model or the voice', () => {
    const health = createProviderHealth();
    const ofCall = healthOfCall(health, { model: 'no-such-model', voiceId: 'no-such-voice' });
    for (let failures = 0; failures < 5; failures += 1) {
      ofCall.record(LLM, 'failed');
      ofCall.record(VOICE, 'failed');
    }
    expect([health.isOpen(LLM), health.isOpen(VOICE)]).toEqual([false, false]);
  });

  it('do if the agent’s choice does not concern the provider', () => {
    const health = createProviderHealth();
    const ofCall = healthOfCall(health, { voiceId: 'voice', model: 'model' });
    const second = { stage: 'llm', number: 2 } as const;
    for (let failures = 0; failures < 2; failures += 1) ofCall.record(second, 'failed');
    expect(health.isOpen(second)).toBe(true);
  });
});
