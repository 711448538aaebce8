import type { RequestOwner } from '../../src/voice/audio/request-queue.js';
import { parseConfig } from '../../src/platform/config/config.js';
import { createAccountTokens, type CallTokens } from '../../src/voice/engines/account-tokens.js';
import { createUsageMeter } from '../../src/voice/engines/engine-usage.js';

const ownerOf = (accountId: string, mode: 'live' | 'test' = 'live'): RequestOwner => ({ accountId, callId: 'c', mode });
const never = new AbortController().signal;

/** Tokens with a clock that the test moves: 60,000 per minute, which is one each ms. */
function setup(limit = { perAccount: 60_000, perCall: 0 }) {
  const clock = { ms: 0 };
  const pauses: number[] = [];
  const pause = (ms: number, signal: AbortSignal) => {
    pauses.push(ms);
    return signal.aborted ? Promise.reject(signal.reason as Error) : Promise.resolve();
  };
  const tokens = createAccountTokens(limit, { now: () => clock.ms, pause });
  return { clock, pauses, tokens };
}

const use = (call: CallTokens, count: number) => call.meter(createUsageMeter({})).add('chat_input_tokens', count);

describe('the tokens per minute of an account', () => {
  it('are those of a minute at once, and then as many as time refills', async () => {
    const { clock, pauses, tokens } = setup();
    const call = tokens.ofCall(ownerOf('acct_1'));
    await call.admit(() => 61_000, never);
    expect(pauses).toEqual([]);
    await call.admit(() => 1_500, never);
    await call.admit(() => 1_500, never);
    await call.admit(() => 1_500, never);
    expect(pauses).toEqual([1_000, 2_500, 4_000]);
    await expect(call.admit(() => 1, never)).rejects.toThrow(/more tokens per minute than one account may/);
    clock.ms += 1_500;
    expect(call.owedMs()).toBe(4_000);
    await call.admit(() => 1, never);
    clock.ms += 600_000;
    expect(call.owedMs()).toBe(0);
    await call.admit(() => 60_001, never);
    expect(call.owedMs()).toBe(1);
  });

  it('are those of all its calls of a mode, and not those of other accounts and modes', async () => {
    const { tokens } = setup();
    use(tokens.ofCall(ownerOf('acct_1')), 90_000);
    expect(tokens.ofCall(ownerOf('acct_1')).owedMs()).toBe(30_000);
    for (const owner of [ownerOf('acct_2'), ownerOf('acct_1', 'test')]) {
      const other = tokens.ofCall(owner);
      await other.admit(() => 1_000, never);
      expect(other.owedMs()).toBe(0);
    }
  });

  it('count the usage of each request once, and release what was estimated', async () => {
    const { tokens } = setup();
    const call = tokens.ofCall(ownerOf('acct_1'));
    const usage = call.meter(createUsageMeter({}));
    const release = await call.admit(() => 50_000, never);
    const counted = ['chat_input_tokens', 'chat_cached_input_tokens_2', 'chat_output_tokens'];
    for (const unit of counted) usage.add(unit, 20_000);
    usage.add('realtime_output_audio_tokens', 10_000);
    usage.add('transcription_input_tokens', 99_000);
    usage.add('voice_characters', 99_000);
    release();
    release();
    expect(call.owedMs()).toBe(10_000);
    expect(usage.total().units).toMatchObject({ chat_input_tokens: 20_000, voice_characters: 99_000 });
  });

  it('are owed for five minutes at most, whatever number a provider reports', () => {
    const { clock, tokens } = setup();
    const call = tokens.ofCall(ownerOf('acct_1'));
    use(call, 1e308);
    use(call, 1e308);
    expect(call.owedMs()).toBe(300_000);
    clock.ms += 300_000;
    expect(call.owedMs()).toBe(0);
  });

  it('are released by a request that is canceled while it waits', async () => {
    const { tokens } = setup();
    const call = tokens.ofCall(ownerOf('acct_1'));
    use(call, 61_000);
    await expect(call.admit(() => 5_000, AbortSignal.abort(new Error('canceled')))).rejects.toThrow('canceled');
    expect(call.owedMs()).toBe(1_000);
  });

  it('grow with its calls in progress, where the limit says so', () => {
    const { clock, tokens } = setup({ perAccount: 60_000, perCall: 30_000 });
    const calls = Array.from({ length: 4 }, () => tokens.ofCall(ownerOf('acct_1')));
    use(calls[0]!, 180_000);
    expect(calls[0]!.owedMs()).toBe(60_000);
    clock.ms += 60_000;
    expect(calls[0]!.owedMs()).toBe(0);
    use(calls[0]!, 60_000);
    for (const call of calls) {
      call.end();
      call.end();
    }
    expect(calls[0]!.owedMs()).toBe(60_000);
  });

  it('are unlimited without a limit, and for requests of the service itself', async () => {
    for (const call of [setup().tokens.ofCall(undefined), createAccountTokens(undefined).ofCall(ownerOf('acct_1'))]) {
      use(call, 1e9);
      await call.admit(() => 1e9, never);
      expect(call.owedMs()).toBe(0);
    }
  });

  it('are not refilled by ending all calls and beginning others', () => {
    const { tokens } = setup();
    const call = tokens.ofCall(ownerOf('acct_1'));
    use(call, 90_000);
    call.end();
    expect(tokens.ofCall(ownerOf('acct_1')).owedMs()).toBe(30_000);
  });

  it('of at most a thousand accounts are stored, besides those with calls', () => {
    const { clock, tokens } = setup();
    const busy = tokens.ofCall(ownerOf('busy'));
    use(busy, 90_000);
    for (let count = 0; count < 1_500; count++) {
      const call = tokens.ofCall(ownerOf(`acct_${count}`));
      use(call, 1_000);
      call.end();
    }
    expect(tokens.size()).toBeLessThanOrEqual(1_000);
    expect(tokens.ofCall(ownerOf('busy')).owedMs()).toBe(30_000);
    clock.ms += 60_000;
    tokens.ofCall(ownerOf('acct_new'));
    expect(tokens.size()).toBe(2);
  });
});

describe('ACCOUNT_TOKENS_PER_MINUTE', () => {
  const limitOf = (ACCOUNT_TOKENS_PER_MINUTE?: string) => parseConfig({ ACCOUNT_TOKENS_PER_MINUTE }).engines.tokenLimit;

  it('is by default more than fifty ordinary calls use, and as much more as there are more calls', () => {
    expect(limitOf()).toEqual({ perAccount: 2_000_000, perCall: 40_000 });
    expect(limitOf('500000')).toEqual({ perAccount: 500_000, perCall: 0 });
    expect(limitOf('0')).toBeUndefined();
  });

  it.each(['-1', '1.5', 'many'])('is rejected as %s', (value) => {
    expect(() => limitOf(value)).toThrow(/ACCOUNT_TOKENS_PER_MINUTE/);
  });
});
