import {
  afterOwnFailure,
  CLOSED_CIRCUIT,
  isOpen,
  reduceCircuit,
  SKIPPED_FOR_MS,
  type Circuit,
} from '../../src/voice/engines/chain/circuit-breaker.js';
import { healthOfCall } from '../../src/voice/engines/chain/pipeline-chains.js';
import { createProviderChain, type Provider } from '../../src/voice/engines/chain/provider-chain.js';
import type { FailureReport } from '../../src/voice/models/failure-report.js';
import { createProviderHealth } from '../../src/voice/engines/chain/provider-health.js';

const FAULT = { message: 'the language model provider responded with status 500' };

describe('the circuit of a provider', () => {
  const failed = (circuit: Circuit, call: string, atMs: number) =>
    reduceCircuit(circuit, { type: 'failed', atMs, by: { callId: call, accountId: call.charAt(0) } });

  it('opens for one account after two failures', () => {
    const once = afterOwnFailure({ failures: 0 }, 0);
    expect(isOpen(once, 1)).toBe(false);
    const twice = afterOwnFailure(once, 5);
    expect(isOpen(twice, 6)).toBe(true);
    expect(afterOwnFailure(twice, 31_000)).toEqual({ failures: 3, trialAtMs: 31_000 + SKIPPED_FOR_MS });
  });

  it('opens after failures of three calls in a row', () => {
    const twice = failed(failed(CLOSED_CIRCUIT, 'a1', 0), 'b1', 1);
    expect(isOpen(twice, 2)).toBe(false);
    expect(isOpen(failed(twice, 'b2', 5), 6)).toBe(true);
    const between = reduceCircuit(twice, { type: 'succeeded', atMs: 5 });
    expect(isOpen(failed(between, 'b2', 6), 7)).toBe(false);
  });

  it('lets one request try the provider again after a pause', () => {
    const open = { trialAtMs: SKIPPED_FOR_MS };
    expect(isOpen(open, SKIPPED_FOR_MS - 1)).toBe(true);
    expect(isOpen(open, SKIPPED_FOR_MS)).toBe(false);
    const tried = reduceCircuit(open, { type: 'tried', atMs: SKIPPED_FOR_MS });
    expect(isOpen(tried, SKIPPED_FOR_MS + 1)).toBe(true);
    // A trial that was canceled blocks the next one no longer than the pause.
    expect(isOpen(tried, 2 * SKIPPED_FOR_MS)).toBe(false);
  });

  it('closes with a success, and stays open after another failure', () => {
    const open = failed(failed(failed(CLOSED_CIRCUIT, 'a1', 0), 'b1', 0), 'c1', 0);
    const tried = { ...open, trialAtMs: 35_000 };
    expect(reduceCircuit(tried, { type: 'succeeded', atMs: 31_000 })).toEqual(CLOSED_CIRCUIT);
    expect(failed(tried, 'd1', 31_000).trialAtMs).toBe(31_000 + SKIPPED_FOR_MS);
  });

  it('is not opened by a request', () => {
    expect(reduceCircuit(CLOSED_CIRCUIT, { type: 'tried', atMs: 1 })).toEqual(CLOSED_CIRCUIT);
  });
});

describe('a chain of providers', () => {
  let atMs = 0;
  let switches: string[] = [];
  let served: number[] = [];
  let health = createProviderHealth(() => atMs);
  beforeEach(() => {
    atMs = 0;
    switches = [];
    served = [];
    health = createProviderHealth(() => atMs);
  });

  function chainOf(count: number, ofCall = health) {
    const providers = Array.from({ length: count }, (_, index) => ({
      stage: 'llm' as const,
      number: index + 1,
      name: 'openai',
      model: 'm',
      port: undefined,
    }));
    return createProviderChain({
      providers: providers as unknown as [Provider<undefined>],
      health: ofCall,
      retryAfterMs: 300,
      handlers: {
        onSwitched: ({ from, to, fault }) => switches.push(`${from.number} ${to.number} ${fault?.message ?? ''}`),
        onServed: ({ number }) => served.push(number),
      },
    });
  }

  it('asks a single provider twice, after its pause', () => {
    const attempts = chainOf(1).begin();
    expect(attempts.failed({ ...FAULT, retryAfterMs: 700 })).toBe(700);
    expect(attempts.failed(FAULT)).toBeUndefined();
    const others = chainOf(1).begin();
    expect(others.failed(FAULT)).toBe(300);
    others.succeeded();
    expect(others.failed(FAULT)).toBe(300);
  });

  it('asks each provider once, without a pause, and stays with the one that answers', () => {
    const chain = chainOf(3);
    const attempts = chain.begin();
    expect(attempts.failed({ ...FAULT, retryAfterMs: 700 })).toBe(0);
    expect(attempts.provider().number).toBe(2);
    attempts.succeeded();
    expect(chain.current().number).toBe(2);
    const later = chain.begin();
    expect(later.provider().number).toBe(2);
    expect(later.failed(FAULT)).toBe(0);
    expect(later.provider().number).toBe(1);
    expect(later.failed(FAULT)).toBe(0);
    expect(later.provider().number).toBe(3);
    expect(later.failed(FAULT)).toBeUndefined();
    expect(served).toEqual([2]);
    expect(switches).toEqual([`1 2 ${FAULT.message}`, `2 1 ${FAULT.message}`, `1 3 ${FAULT.message}`]);
  });

  it('skips a provider that failed in earlier calls, until its pause is over', () => {
    chainOf(2).begin().failed(FAULT);
    chainOf(2).begin().failed(FAULT);
    switches = [];
    expect(chainOf(2).begin().provider().number).toBe(2);
    expect(switches).toEqual(['1 2 ']);
    atMs = SKIPPED_FOR_MS;
    const trial = chainOf(2).begin();
    expect(trial.provider().number).toBe(1);
    expect(chainOf(2).begin().provider().number).toBe(2);
    trial.succeeded();
    expect(chainOf(2).begin().provider().number).toBe(1);
  });

  it('stays with a provider that it tries again, until that fails', () => {
    chainOf(2).begin().failed(FAULT);
    chainOf(2).begin().failed(FAULT);
    atMs = SKIPPED_FOR_MS;
    switches = [];
    const chain = chainOf(2);
    const first = chain.begin();
    const second = chain.begin();
    expect([chain.current().number, second.provider().number, switches]).toEqual([1, 1, []]);
    second.failed(FAULT);
    expect([chain.begin().provider().number, switches]).toEqual([2, [`1 2 ${FAULT.message}`]]);
    first.succeeded();
  });

  it('does not blame a provider for a reply that cannot be used', () => {
    for (let call = 0; call < 3; call += 1) {
      const attempts = chainOf(2).begin();
      expect(attempts.failed({ ...FAULT, blame: 'request' })).toBe(0);
      expect(attempts.provider().number).toBe(2);
    }
    expect(chainOf(2).current().number).toBe(1);
  });

  it.each<[string, FailureReport, boolean]>([
    ['a rejected prompt', { status: 400, code: 'invalid_prompt' }, false],
    ['a request that is too long', { status: 413 }, false],
    ['a prompt that is rejected after the status 200', { code: 'invalid_prompt' }, false],
    ['a wrong key with the status 400', { status: 400, code: 'invalid_api_key' }, true],
    ['an unknown model', { status: 404, code: 'model_not_found' }, true],
    ['a model that is gone', { status: 410 }, true],
    ['a rejected key', { status: 401 }, true],
    ['too many requests', { status: 429, code: 'rate_limit_exceeded' }, true],
    ['a server error', { status: 503 }, true],
    ['a closed socket', { status: 1011 }, true],
    ['a socket that is closed for what was sent', { status: 1008 }, false],
    ['an overload after the status 200', { code: 'server_is_overloaded' }, true],
    ['a failure without a report', {}, true],
  ])('goes to the next provider after %s, and skips the first in other calls if it is at fault', (_, report, skips) => {
    for (let call = 0; call < 2; call += 1) {
      const attempts = chainOf(2).begin();
      expect(attempts.failed({ ...FAULT, report })).toBe(0);
      expect(attempts.provider().number).toBe(2);
    }
    expect(chainOf(2).current().number).toBe(skips ? 2 : 1);
  });

  it('is used again after a trial whose failure this call caused', () => {
    chainOf(2).begin().failed(FAULT);
    chainOf(2).begin().failed(FAULT);
    atMs = SKIPPED_FOR_MS;
    const trial = chainOf(2).begin();
    trial.failed({ ...FAULT, report: { status: 400, code: 'invalid_prompt' } });
    expect(chainOf(2).begin().provider().number).toBe(1);
  });

  it.each<[FailureReport, number]>([
    [{ status: 400 }, 2],
    [{ status: 422, code: 'unknown_parameter' }, 2],
    [{ status: 400, code: 'invalid_prompt' }, 1],
    [{ status: 413 }, 1],
  ])('skips a provider that rejects one call after the other with %p, if that may be its fault', (report, expected) => {
    for (const callId of ['one', 'two', 'three']) {
      const requestOwner = { accountId: `of ${callId}`, callId, mode: 'live' } as const;
      const attempts = chainOf(2, healthOfCall(health, { callId, requestOwner })).begin();
      expect(attempts.provider().number).toBe(1);
      attempts.failed({ ...FAULT, report });
    }
    expect(chainOf(2).begin().provider().number).toBe(expected);
  });

  it('asks the first provider if all are skipped', () => {
    for (let call = 0; call < 3; call += 1) {
      const attempts = chainOf(2).begin();
      attempts.failed(FAULT);
      attempts.failed(FAULT);
    }
    const attempts = chainOf(2).begin();
    expect(attempts.provider().number).toBe(1);
    expect(attempts.failed(FAULT)).toBe(0);
    expect(attempts.provider().number).toBe(2);
  });

  it('reports one switch if two pieces of work fail at the same time', () => {
    const chain = chainOf(2);
    const [one, other] = [chain.begin(), chain.begin()];
    one.failed(FAULT);
    other.failed(FAULT);
    expect(other.provider().number).toBe(2);
    expect(switches).toHaveLength(1);
  });
});
