import { healthOfCall } from '../../src/voice/engines/chain/pipeline-chains.js';
import { SKIPPED_FOR_MS } from '../../src/voice/engines/chain/circuit-breaker.js';
import { createProviderChain, recordFault } from '../../src/voice/engines/chain/provider-chain.js';
import { createProviderHealth, type ProviderHealth } from '../../src/voice/engines/chain/provider-health.js';
import type { FailureReport } from '../../src/voice/models/failure-report.js';
import { ProviderError, SilentProviderError, UnclearProviderError } from '../../src/voice/engines/pipeline/ports.js';

const LLM = { stage: 'llm', number: 1 } as const;
const VOICE = { stage: 'tts', number: 1 } as const;

describe('the failures of a provider', () => {
  const SETTINGS = { keyterms: ['Callwright'] };
  const ofCall = (health: ProviderHealth, call: string) => {
    const requestOwner = { accountId: call.charAt(0), callId: call, mode: 'live' } as const;
    return healthOfCall(health, { callId: call, requestOwner, settings: SETTINGS });
  };

  it('open its circuit for all calls if they are of several accounts', () => {
    const health = createProviderHealth();
    for (const call of ['a1', 'b1', 'a2']) ofCall(health, call).record(LLM, 'failed');
    expect(ofCall(health, 'c1').isOpen(LLM)).toBe(true);
  });

  it.each<[string, FailureReport]>([
    ['an error of the server', { status: 500 }],
    ['an error of the server in a stream', { code: 'server_error' }],
    ['a broken connection', {}],
    ['too many requests', { status: 429, code: 'rate_limit_exceeded' }],
  ])('move the calls of their account only, however many there are of one account: %s', (_, report) => {
    const health = createProviderHealth();
    for (let call = 0; call < 5; call += 1) recordFault(ofCall(health, `a${call}`), LLM, { report });
    expect(['a', 'b'].map((account) => ofCall(health, account).isOpen(LLM))).toEqual([true, false]);
  });

  it('move the calls of an account that is the only one after two of them', () => {
    const health = createProviderHealth();
    ofCall(health, 'a1').record(LLM, 'failed');
    expect(ofCall(health, 'a2').isOpen(LLM)).toBe(false);
    ofCall(health, 'a2').record(LLM, 'failed');
    expect(ofCall(health, 'a3').isOpen(LLM)).toBe(true);
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
  const fail = (health: ProviderHealth, accountId: string, callId: string, error: ProviderError) => {
    const owner = { accountId, callId, mode: 'live' } as const;
    const chain = createProviderChain({
      providers: [{ ...VOICE, name: 'openai', model: 'm', port: undefined }],
      health: healthOfCall(health, { callId, requestOwner: owner }),
      handlers: { onSwitched: () => undefined, onServed: () => undefined },
      retryAfterMs: 0,
    });
    chain.begin().failed(error);
  };
  const sayNothing = (health: ProviderHealth, accountId: string, callId: string) =>
    fail(health, accountId, callId, new UnclearProviderError('voice', 'returned no audio'));

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

  it.each([
    ['over HTTP', { status: 403 }],
    ['on a socket', {}],
    ['by the end of a socket', { status: 1008 }],
  ])('do not, either, if the voice rejects them because of their content: %s', (_how, status) => {
    const health = createProviderHealth(() => 0);
    const report = { provider: 'elevenlabs', code: 'content_against_policy', ...status };
    const error = new ProviderError('voice', 'reported content_against_policy', undefined, false, report);
    for (const account of ['a', 'b', 'c']) fail(health, account, account, error);
    expect(health.isOpen(VOICE)).toBe(false);
  });

  it('do not if they are calls of one account for which the voice closes the socket without a code', () => {
    const health = createProviderHealth(() => 0);
    const error = new ProviderError('voice', 'closed the connection with code 1008', undefined, false, {
      status: 1008,
    });
    for (let call = 0; call < 5; call += 1) fail(health, 'a', `a${call}`, error);
    expect(health.isOpen(VOICE)).toBe(false);
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
    for (const accountId of ['a', 'b', 'c']) health.record(LLM, 'failed', { accountId, callId: accountId });
    expect(health.isOpen(LLM)).toBe(true);
    atMs = SKIPPED_FOR_MS;
    health.record(LLM, 'tried', { accountId: 'a', callId: 'a1' });
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

describe('requests for which a provider sends nothing', () => {
  let atMs = 0;
  let health = createProviderHealth(() => atMs);
  beforeEach(() => {
    atMs = 0;
    health = createProviderHealth(() => atMs);
  });

  const ofCall = (call: string) => {
    const requestOwner = { accountId: call.charAt(0), callId: call, mode: 'live' } as const;
    return healthOfCall(health, { callId: call, requestOwner });
  };
  /** Opens a chain for a call, written as account and number. */
  const chainOf = (call: string) => {
    const provider = (number: number) => ({
      stage: 'llm' as const,
      number,
      name: 'openai',
      model: 'm',
      port: undefined,
    });
    return createProviderChain({
      providers: [provider(1), provider(2)],
      health: ofCall(call),
      handlers: { onSwitched: () => undefined, onServed: () => undefined },
      retryAfterMs: 0,
    });
  };
  const begin = (call: string) => chainOf(call).begin();
  const hang = (calls: string) => {
    for (const call of calls.split(' ')) {
      const attempts = begin(call);
      if (attempts.provider().number !== 1) throw new Error(`${call} skips the provider`);
      attempts.failed(new SilentProviderError('model', 'sent nothing for 3000 ms'));
      expect(attempts.provider().number).toBe(2);
    }
  };
  /** The provider that a call begins with. */
  const firstOf = (call: string) => begin(call).provider().number;

  it('never move the calls of other accounts, however many there are of one account', () => {
    hang('a0 a1');
    for (let trial = 2; trial < 10; trial += 1) {
      expect([firstOf('a'), firstOf('b')]).toEqual([2, 1]);
      atMs += SKIPPED_FOR_MS;
      hang(`a${trial}`);
    }
    expect([firstOf('a'), firstOf('b')]).toEqual([2, 1]);
  });

  it('open the circuit for the calls of one account after two, as if it were the only one, until a pause is over', () => {
    hang('a1');
    expect(firstOf('a')).toBe(1);
    hang('a2');
    expect(firstOf('a')).toBe(2);
    atMs = SKIPPED_FOR_MS;
    hang('a3');
    expect(firstOf('a')).toBe(2);
    atMs = 2 * SKIPPED_FOR_MS;
    const trial = begin('a4');
    expect([trial.provider().number, firstOf('a')]).toEqual([1, 2]);
    trial.succeeded();
    expect(firstOf('a')).toBe(1);
  });

  it('count together with other failures for the calls of their account', () => {
    begin('a1').failed({ message: 'failed' });
    hang('a2');
    expect([firstOf('a'), firstOf('b')]).toEqual([2, 1]);
  });

  it('open the circuit for all calls after three calls in a row of more than one account', () => {
    hang('a1 b1');
    expect(firstOf('c')).toBe(1);
    hang('c1');
    expect(['a', 'b', 'c', 'd'].map(firstOf)).toEqual([2, 2, 2, 2]);
  });

  it('do not keep the circuit open for others if they are trials of one account', () => {
    hang('a1 c1 a2');
    expect(firstOf('b')).toBe(2);
    for (const trial of ['a3', 'a4']) {
      atMs += SKIPPED_FOR_MS;
      hang(trial);
    }
    const other = begin('b');
    // The trial of another account decides, so the account of the last ones cannot keep it.
    expect([firstOf('a'), other.provider().number, firstOf('c')]).toEqual([2, 1, 2]);
    other.failed({ message: 'failed' });
    expect(firstOf('c')).toBe(2);
    atMs += SKIPPED_FOR_MS;
    begin('b').succeeded();
    expect(firstOf('c')).toBe(1);
  });

  it('cannot be replaced by trials without an end, which one account cancels again and again', () => {
    hang('a1 b1 a2');
    atMs = SKIPPED_FOR_MS;
    const canceled = chainOf('a3');
    for (let replies = 0; replies < 5; replies += 1) {
      expect([canceled.begin().provider().number, firstOf('a'), firstOf('b')]).toEqual([1, 2, 2]);
      atMs += 1_000;
    }
    const trial = begin('b');
    expect([trial.provider().number, firstOf('a'), firstOf('c')]).toEqual([1, 2, 2]);
    trial.succeeded();
    expect(firstOf('c')).toBe(1);
  });

  it('is not tried earlier because a call used it while all others were skipped, too', () => {
    hang('a1 b1 a2');
    atMs = 1_000;
    health.record(LLM, 'tried', { callId: 'a3', accountId: 'a' });
    atMs = SKIPPED_FOR_MS - 1;
    expect(firstOf('b')).toBe(2);
  });

  it('is not tried earlier by an account for the same reason, if no other account skips it', () => {
    hang('a1 a2');
    atMs = 1_000;
    health.record(LLM, 'tried', { callId: 'a3', accountId: 'a' });
    atMs = SKIPPED_FOR_MS - 1;
    expect([firstOf('a'), firstOf('b')]).toEqual([2, 1]);
  });

  it('is skipped by an account only shortly after a trial without an end, if no other account skips it', () => {
    hang('a1 a2');
    atMs = SKIPPED_FOR_MS;
    expect([firstOf('a'), firstOf('a'), firstOf('b')]).toEqual([1, 2, 1]);
    atMs += 6_000;
    expect(firstOf('a')).toBe(1);
  });

  it('keep the circuit open by a trial if they happen in calls of several accounts', () => {
    hang('a1 b1 c1');
    atMs = SKIPPED_FOR_MS;
    hang('d1');
    expect(firstOf('e')).toBe(2);
  });

  it('are forgotten for the account that was silent the longest time ago, so that they need little memory', () => {
    const accounts = Array.from({ length: 1_001 }, (_, index) => `account ${index}`);
    const of = (accountId: string) =>
      healthOfCall(health, { callId: accountId, requestOwner: { accountId, callId: accountId, mode: 'live' } });
    for (const accountId of accounts) {
      for (let count = 0; count < 2; count += 1) {
        of(accountId).record(LLM, 'failed');
        health.record(LLM, 'succeeded');
      }
    }
    expect(['account 0', 'account 1', 'account 1000'].map((id) => of(id).isOpen(LLM))).toEqual([false, true, true]);
  });
});
