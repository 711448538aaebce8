import fc from 'fast-check';
import { parseUsd } from '../../src/cli/arguments.js';
import { formatUsd } from '../../src/cli/output.js';

describe('amounts on the command line', () => {
  it.each([
    [0, '0.00'],
    [2_500, '0.0025'],
    [150_000, '0.15'],
    [12_500_000, '12.50'],
    [1_000_000_001, '1000.000001'],
    [-10_000, '-0.01'],
  ])('show %d micro-USD as %s', (micros, shown) => {
    expect(formatUsd(micros)).toBe(shown);
  });

  it('parse back to exactly what was shown', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 999_999_999_999_999 }), (micros) => {
        expect(parseUsd(formatUsd(micros))).toBe(micros);
      }),
    );
  });
});
