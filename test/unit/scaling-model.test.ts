import { ASSUMED } from '../bench/scaling/assumptions.js';
import { checksOf, furtherHolds, highestRate, needsOf, workerMegabytes } from '../bench/scaling/model.js';
import { withTables } from '../bench/scaling/tables.js';
import { extensionLeadMs, HOLD_WINDOW_SECONDS } from '../../src/kernel/hold-windows.js';
import { readScalingFigures } from '../structure/scaling-page.js';

const figures = readScalingFigures();

describe('the model of docs/scaling.md', () => {
  // Two shared cores vary by about this much from run to run.
  it.each(checksOf(figures))('reproduces the measured $name', ({ predicted, measured }) => {
    expect(predicted / measured).toBeGreaterThan(0.75);
    expect(predicted / measured).toBeLessThan(1.25);
  });

  it('counts the further holds of a call as the workflow makes them', () => {
    let heldSeconds = 0;
    const heldAt = HOLD_WINDOW_SECONDS.slice(0, -1).map((seconds) => {
      heldSeconds += seconds;
      return heldSeconds - extensionLeadMs(seconds) / 1_000;
    });
    heldAt.forEach((seconds, index) => {
      expect(furtherHolds(seconds)).toBe(index);
      expect(furtherHolds(seconds + 1)).toBe(index + 1);
    });
  });

  it('grows in proportion to the calls, apart from whole processes and shards', () => {
    const [small, large] = [needsOf(100_000, figures, ASSUMED), needsOf(1_000_000, figures, ASSUMED)];
    expect(large.callsPerSecond).toBeCloseTo(10 * small.callsPerSecond);
    expect(large.worker.cores).toBeCloseTo(10 * small.worker.cores);
    expect(large.usdPerMinute / small.usdPerMinute).toBeCloseTo(1, 2);
    expect(large.installations).toBe(10);
    expect(large.temporal.shards).toBe(small.temporal.shards);
  });

  it('gives a worker no more open calls than its cache holds', () => {
    // With long calls, the processor is not the limit.
    const needs = needsOf(100_000, figures, { ...ASSUMED, talkSeconds: 3_000 });
    expect(needs.worker.processes).toBe(100_000 / ASSUMED.cachedCalls);
    expect(needs.worker.gigabytes).toBeCloseTo((50 * workerMegabytes(figures, 2_000)) / 1_024);
  });

  it('needs less for the same number of longer calls', () => {
    const [short, long] = [60, 600].map((talkSeconds) => needsOf(1_000, figures, { ...ASSUMED, talkSeconds }));
    expect(long?.worker.cores).toBeLessThan(short?.worker.cores ?? 0);
    expect(long?.usdPerMinute).toBeLessThan(short?.usdPerMinute ?? 0);
    expect(highestRate(figures, 2, 600)).toBeLessThan(highestRate(figures, 2, 10));
  });
});

describe('the tables of docs/scaling.md', () => {
  it('go between their markers', () => {
    const page = 'a\n<!-- costs: made by npm run structure -->\nold\n<!-- end of costs -->\nb\n';
    expect(withTables(page, { costs: 'new' })).toBe(page.replace('old', 'new'));
    expect(() => withTables(page, { needs: 'new' })).toThrow('no place for needs');
  });
});
