import { healthOfCall } from '../../src/voice/engines/chain/pipeline-chains.js';
import { SKIPPED_FOR_MS } from '../../src/voice/engines/chain/circuit-breaker.js';
import { createProviderChain } from '../../src/voice/engines/chain/provider-chain.js';
import { createProviderHealth, type ProviderHealth } from '../../src/voice/engines/chain/provider-health.js';
import { UnclearProviderError } from '../../src/voice/engines/pipeline/ports.js';

const LLM = { stage: 'llm', number: 1 } as const;
const VOICE = { stage: 'tts', number: 1 } as const;

describe('the failures of a provider', () => {
  it('open its circuit for all calls', () => {
    const health = createProviderHealth();
    const ofCall = healthOfCall(health, { callId: 'a', settings: { keyterms: ['Callwright'] } });
    for (let failures = 0; failures < 2; failures += 1) ofCall.record(LLM, 'failed');
    expect(healthOfCall(health, { callId: 'b' }).isOpen(LLM)).toBe(true);
  });

  it('do not if the agent chose the model or the voice', () => {
    const health = createProviderHealth();
    const ofCall = healthOfCall(health, {
      callId: 'a',
      settings: { model: 'no-such-model', voiceId: 'no-such-voice' },
    });
    for (let failures = 0; failures < 5; failures += 1) {
      ofCall.record(LLM, 'failed');
      ofCall.record(VOICE, 'failed');
    }
    expect([health.isOpen(LLM), health.isOpen(VOICE)]).toEqual([false, false]);
  });

  it('do if the agent’s choice does not concern the provider', () => {
    const health = createProviderHealth();
    const ofCall = healthOfCall(health, { callId: 'a', settings: { voiceId: 'voice', model: 'model' } });
    const second = { stage: 'llm', number: 2 } as const;
    for (let failures = 0; failures < 2; failures += 1) ofCall.record(second, 'failed');
    expect(health.isOpen(second)).toBe(true);
  });
});

describe('texts for which a voice has no audio, such as a dash', () => {
  const sayNothing = (health: ProviderHealth, accountId: string, callId: string) => {
    const owner = { accountId, callId, mode: 'live' } as const;
    const chain = createProviderChain({
      providers: [{ ...VOICE, name: 'openai', model: 'm', port: undefined }],
      health: healthOfCall(health, { callId, requestOwner: owner }),
      handlers: { onSwitched: () => undefined, onServed: () => undefined },
      retryAfterMs: 0,
    });
    chain.begin().failed(new UnclearProviderError('voice', 'returned no audio'));
  };

  it('do not make the calls of other accounts use another voice', () => {
    const health = createProviderHealth(() => 0);
    for (let call = 0; call < 5; call += 1) sayNothing(health, 'a', `a${call}`);
    expect(health.isOpen(VOICE)).toBe(false);
  });

  it('do if it happens in calls of several accounts, because the voice may be broken', () => {
    const health = createProviderHealth(() => 0);
    for (const account of ['a', 'b', 'c']) sayNothing(health, account, account);
    expect(health.isOpen(VOICE)).toBe(true);
  });
});

describe('requests that a provider rejects', () => {
  /** Lets calls, written as account and number, be rejected one after the other, or succeed with `+`. */
  function after(calls: string, health = createProviderHealth(() => 0)) {
    for (const call of calls.split(' ')) {
      const accountId = call.charAt(0);
      const owner = { accountId, callId: call.slice(0, 2), mode: 'live' } as const;
      const ofCall = healthOfCall(health, { callId: owner.callId, requestOwner: owner });
      ofCall.record(LLM, call.endsWith('+') ? 'succeeded' : 'rejected');
    }
    return health.isOpen(LLM);
  }

  it.each([
    ['of three calls of different accounts', 'a1 b1 c1', true],
    ['of three calls of two accounts', 'a1 a2 b1', true],
    ['of two calls', 'a1 b1', false],
    ['of the same two calls again and again', 'a1 b1 a1 b1 a1', false],
    ['of many calls of one account', 'a1 a2 a3 a4 a5 a6', false],
    ['of many calls of one account after one of another', 'b1 a1 a2+ a3 a4 a5', false],
    ['with a success between', 'a1 b1 d1+ c1', false],
  ])('open its circuit or not: %s', (_, calls, isOpen) => {
    expect(after(calls)).toBe(isOpen);
  });

  it('keep its circuit open by a trial, but not by those of one account', () => {
    let atMs = 0;
    const health = createProviderHealth(() => atMs);
    expect(after('a1 b1 b2', health)).toBe(true);
    for (const [call, isOpen] of [
      ['c1', true],
      ['b3', true],
      ['b4', true],
      ['b5', false],
    ] as const) {
      atMs += SKIPPED_FOR_MS;
      expect([call, after(call, health)]).toEqual([call, isOpen]);
    }
  });

  it('close a circuit that failures have opened, because the provider responds again', () => {
    let atMs = 0;
    const health = createProviderHealth(() => atMs);
    health.record(LLM, 'failed');
    health.record(LLM, 'failed');
    atMs = SKIPPED_FOR_MS;
    health.record(LLM, 'tried');
    expect(after('a1', health)).toBe(false);
    health.record(LLM, 'failed');
    expect(health.isOpen(LLM)).toBe(false);
  });

  it('do not count if the agent chose the model', () => {
    const health = createProviderHealth(() => 0);
    for (const callId of ['a', 'b', 'c', 'd']) {
      const requestOwner = { accountId: callId, callId, mode: 'live' } as const;
      healthOfCall(health, { callId, requestOwner, settings: { model: 'gone' } }).record(LLM, 'rejected');
    }
    expect(health.isOpen(LLM)).toBe(false);
  });

  it('do not hide a failure of a trial', () => {
    let atMs = 0;
    const health = createProviderHealth(() => atMs);
    after('a1 b1 c1', health);
    atMs = SKIPPED_FOR_MS;
    health.record(LLM, 'tried');
    health.record(LLM, 'failed');
    expect(health.isOpen(LLM)).toBe(true);
  });
});
