import { createAccountTokens, type AccountTokens } from '../../src/voice/engines/account-tokens.js';
import { createUsageMeter } from '../../src/voice/engines/engine-usage.js';
import { createResponseCosts } from '../../src/voice/engines/realtime/response-costs.js';
import { openStage, type Stage } from '../support/pipeline-stage';

const ownerOf = (accountId: string) => ({ accountId, callId: 'call_stage', mode: 'live' as const });

/** The tokens of accounts by the fake clock: one each ms. */
function newTokens(): AccountTokens {
  return createAccountTokens(
    { perAccount: 60_000, perCall: 0 },
    {
      now: () => performance.now(),
      pause: (ms, signal) =>
        new Promise((resolve, reject) => {
          setTimeout(resolve, ms);
          signal.addEventListener('abort', () => reject(signal.reason as Error));
        }),
    },
  );
}

describe('an account whose calls use up its tokens per minute', () => {
  let tokens: AccountTokens;
  let greedy: Stage;
  let other: Stage;

  beforeEach(async () => {
    jest.useFakeTimers();
    tokens = newTokens();
    greedy = await openStage({ tokens, call: { requestOwner: ownerOf('acct_greedy') } });
    other = await openStage({ tokens, call: { requestOwner: ownerOf('acct_other') } });
  });

  afterEach(async () => {
    await Promise.all([greedy.close(), other.close()]);
    jest.useRealTimers();
  });

  /** Lets another call of the greedy account use tokens, until it has to wait for `ms`. */
  function owe(ms: number): void {
    const call = tokens.ofCall(ownerOf('acct_greedy'));
    call.meter(createUsageMeter({})).add('chat_input_tokens', 60_000);
    call.meter(createUsageMeter({})).add('chat_input_tokens', ms - call.owedMs());
    expect(call.owedMs()).toBeCloseTo(ms, 0);
  }

  it('waits for its replies, while those of other accounts are asked for at once', async () => {
    owe(4_000);
    await greedy.says('Can you hear me?');
    greedy.lastRequest(1);
    await other.says('Can you hear me?');
    other.lastRequest(2).respond('Yes.');
    await greedy.pass(3_000);
    greedy.lastRequest(2).respond('Yes, I can.');
    await greedy.pass(2_000);
    expect(greedy.said()).toContain('agent: Yes, I can.');
    expect(greedy.failures).toEqual([]);
  });

  it('hears the apology if the wait is too long, and no request is sent', async () => {
    owe(20_000);
    await greedy.says('Can you hear me?');
    await greedy.pass(5_000);
    greedy.lastRequest(1);
    expect(greedy.failures.at(-1)).toMatchObject({ part: 'model', what: expect.stringContaining('tokens per minute') });
    expect(greedy.failed?.message).toContain('tokens per minute');
    await other.says('Can you hear me?');
    other.lastRequest(2);
  });

  it('does not make its provider count as failed for the calls of others', async () => {
    const health = { stage: 'llm', number: 1 } as const;
    for (const stage of [greedy, other]) expect(stage.health.isOpen(health)).toBe(false);
    owe(20_000);
    await greedy.says('Can you hear me?');
    await greedy.pass(5_000);
    expect(greedy.health.isOpen(health)).toBe(false);
  });

  it('pays for what its model reports, in all of its calls', async () => {
    greedy.usage = { inputTokens: 50_000, cachedInputTokens: 20_000, outputTokens: 100 };
    await greedy.says('Can you hear me?');
    greedy.lastRequest(2).respond('Yes.');
    await greedy.pass(100);
    expect(tokens.ofCall(ownerOf('acct_greedy')).owedMs()).toBeGreaterThan(8_000);
    expect(tokens.ofCall(ownerOf('acct_other')).owedMs()).toBe(0);
  });
});

describe('a response of the realtime model', () => {
  it('uses up as many replies of its call as the account owes tokens, up to all that a call can save', () => {
    const charged: number[] = [];
    const costsOf = (owedMs: number) =>
      createResponseCosts({
        link: { isReady: () => true, promptTokens: () => 0 },
        responses: { current: () => undefined } as unknown as Parameters<typeof createResponseCosts>[0]['responses'],
        usage: createUsageMeter({}),
        owedMs: () => owedMs,
        prices: {},
        dispatch: (what) => void (what.type === 'replies_charged' && charged.push(what.count)),
      });
    const usage = { input_token_details: { text_tokens: 100 }, output_token_details: { audio_tokens: 10 } };
    for (const owedMs of [0, 5_000, 600_000]) {
      const response = { id: 'resp_1', status: 'completed', usage };
      costsOf(owedMs).done(response as Parameters<ReturnType<typeof costsOf>['done']>[0]);
    }
    expect(charged).toEqual([2, 30]);
  });
});
