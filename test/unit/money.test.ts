import { assertMicros, priceOfSeconds, secondsCovered, usdFromMicros } from '../../src/domain/money';

describe('money', () => {
  it('is exactly 2,500 micro-USD a second: 0.15 USD a minute', () => {
    expect(priceOfSeconds(60)).toBe(150_000);
    expect(usdFromMicros(priceOfSeconds(60))).toBe(0.15);
  });

  it('reads in USD as duration_seconds × 0.0025 for every second of four hours', () => {
    for (let seconds = 0; seconds <= 14_400; seconds++) {
      expect(usdFromMicros(priceOfSeconds(seconds))).toBe(seconds / 400);
    }
  });

  it('covers whole seconds only', () => {
    expect(secondsCovered(149_999)).toBe(59);
    expect(secondsCovered(150_000)).toBe(60);
  });

  it.each([-1, 0.5, Number.NaN, Infinity, 2 ** 53, '1', null])('refuses %p', (amount) => {
    expect(() => assertMicros(amount)).toThrow(RangeError);
  });
});
