import { toModelUsage } from '../../src/voice/engines/pipeline/llm/model-stream.js';

describe('the token counts of a provider', () => {
  it('tell new input tokens from cached ones', () => {
    expect(toModelUsage(120, 100, 7)).toEqual({ inputTokens: 20, cachedInputTokens: 100, outputTokens: 7 });
    expect(toModelUsage(5, null, 1)).toEqual({ inputTokens: 5, cachedInputTokens: 0, outputTokens: 1 });
  });

  it('are bounded, whatever a faulty provider reports', () => {
    const most = 100_000_000;
    expect(toModelUsage(1e308, undefined, 1e308)).toEqual({
      inputTokens: most,
      cachedInputTokens: 0,
      outputTokens: most,
    });
    expect(toModelUsage(10, 1e308, -5)).toEqual({ inputTokens: 0, cachedInputTokens: 10, outputTokens: 0 });
  });
});
