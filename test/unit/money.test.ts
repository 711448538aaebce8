import fc from 'fast-check';
import {
  assertMicros,
  assertRate,
  MAX_MICROS_PER_SECOND,
  priceOfSeconds,
  rateOf,
  secondsCovered,
  secondsTouched,
  usdFromMicros,
  usdPerMinute,
} from '../../src/kernel/money';

const RATE = 2_500;
const rates = fc.integer({ min: 1, max: MAX_MICROS_PER_SECOND });

describe('money', () => {
  it('costs exactly 2,500 micro-USD a second by default: 0.15 USD a minute', () => {
    expect(rateOf({})).toBe(RATE);
    expect(rateOf({ microsPerSecond: 7 })).toBe(7);
    expect(priceOfSeconds(60, RATE)).toBe(150_000);
    expect(usdFromMicros(priceOfSeconds(60, RATE))).toBe(0.15);
    expect(usdPerMinute(RATE)).toBe(0.15);
  });

  it('equals duration_seconds × 0.0025 USD for every second of four hours', () => {
    for (let seconds = 0; seconds <= 14_400; seconds++) {
      expect(usdFromMicros(priceOfSeconds(seconds, RATE))).toBe(seconds / 400);
    }
  });

  it('covers whole seconds only', () => {
    expect(secondsCovered(149_999, RATE)).toBe(59);
    expect(secondsCovered(150_000, RATE)).toBe(60);
  });

  it('converts every amount and rate exactly to seconds, rounded down or up', () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), rates, (micros, rate) => {
        const [amount, price] = [BigInt(micros), BigInt(rate)];
        expect(BigInt(secondsCovered(micros, rate))).toBe(amount / price);
        expect(BigInt(secondsTouched(micros, rate))).toBe((amount + price - 1n) / price);
      }),
    );
  });

  it('is exact in JSON to six decimals', () => {
    const decimal = (micros: number) => `${Math.floor(micros / 1e6)}.${String(micros % 1e6).padStart(6, '0')}`;
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 8e15 }), (micros) => {
        const text = JSON.stringify(usdFromMicros(micros));
        expect(text).toBe(decimal(micros).replace(/\.?0+$/, ''));
        const [dollars, fraction = ''] = text.split('.');
        expect(Number(`${dollars}${fraction.padEnd(6, '0')}`)).toBe(micros);
      }),
    );
    expect(JSON.stringify([1, 833, 1_000_001].map(usdFromMicros))).toBe('[0.000001,0.000833,1.000001]');
  });

  it.each([0, -1, 0.5, Number.NaN, MAX_MICROS_PER_SECOND + 1, '1', null, undefined])('rejects %p as a rate', (rate) => {
    expect(() => assertRate(rate)).toThrow(RangeError);
  });

  it.each([-1, 0.5, Number.NaN, Infinity, 2 ** 53, '1', null])('rejects %p as an amount', (amount) => {
    expect(() => assertMicros(amount)).toThrow(RangeError);
  });
});
