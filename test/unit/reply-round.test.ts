import { createAccountTokens } from '../../src/voice/engines/account-tokens.js';
import { createProviderChain, type Provider } from '../../src/voice/engines/chain/provider-chain.js';
import { createProviderHealth } from '../../src/voice/engines/chain/provider-health.js';
import { ProviderError, type ChatDelta } from '../../src/voice/engines/pipeline/ports.js';
import { speakRound } from '../../src/voice/engines/pipeline/reply-round.js';

type Answer = string | ProviderError;

/** Lets models answer one round each time, one after another. @returns the words said, or the error */
async function roundOf(answers: readonly Answer[], health = createProviderHealth(() => 0)) {
  const left = [...answers];
  async function* stream(): AsyncGenerator<ChatDelta> {
    const answer = left.shift() ?? '';
    if (answer instanceof ProviderError) throw answer;
    if (answer !== '') yield { kind: 'text', text: answer };
  }
  const providers = [1, 2].map((number) => ({
    stage: 'llm' as const,
    number,
    name: 'openai',
    model: 'm',
    port: { stream },
  }));
  const models = createProviderChain({
    providers: providers as unknown as [Provider<{ stream: typeof stream }>],
    health,
    retryAfterMs: 0,
    handlers: { onServed: () => undefined, onSwitched: () => undefined },
  });
  let text = '';
  const round = {
    models,
    tokens: createAccountTokens(undefined).ofCall(undefined),
    tools: [],
    mayCallTools: false,
    messages: () => [],
    text: () => text,
    signal: new AbortController().signal,
    onRetry: () => undefined,
    say: (sentences: readonly string[]) => {
      text += sentences.join(' ');
      return true;
    },
  };
  await speakRound(round, false).catch((error: unknown) => (text = String(error)));
  return text;
}

const LLM = { stage: 'llm', number: 1 } as const;

describe('an empty reply of a model', () => {
  it('is asked for again, of the next model', async () => {
    expect(await roundOf(['', 'Good morning.'])).toBe('Good morning.');
    expect(await roundOf(['', ''])).toContain('returned an empty reply');
  });

  it('does not count as a failure of its provider, because a prompt may provoke it in any call', async () => {
    const health = createProviderHealth(() => 0);
    for (let call = 0; call < 2; call += 1) await roundOf(['', 'Good morning.'], health);
    expect(health.isOpen(LLM)).toBe(false);
  });

  it('is not a rejected request, which counts', async () => {
    const health = createProviderHealth(() => 0);
    const fault = new ProviderError('model', 'responded with status 500');
    for (let call = 0; call < 2; call += 1) await roundOf([fault, 'Good morning.'], health);
    expect(health.isOpen(LLM)).toBe(true);
  });
});
