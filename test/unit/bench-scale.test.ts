import { growthOf } from '../bench/scale/growth.js';
import { cacheFiguresOf } from '../bench/scale/sdk-metrics.js';
import { signalTimes } from '../bench/scale/signal-times.js';

const series = (length: number, value: (index: number) => number) => Array.from({ length }, (_, index) => value(index));
/** Noise of about 3 % that has no trend. */
const noise = (index: number) => 3 * Math.sin(index * 2.4);

describe('the test for growth', () => {
  it.each([
    ['a steady series with noise', series(60, (index) => 100 + noise(index)), false],
    ['a leak of a third', series(60, (index) => 100 + index / 2 + noise(index)), true],
    ['a warm-up that levels off', series(60, (index) => 100 + Math.min(50, index * 5) + noise(index)), false],
    ['a warm-up with a leak after it', series(60, (index) => 100 + Math.min(20, index * 5) + index / 2), true],
    ['a rise that begins late', series(60, (index) => 100 + Math.max(0, index - 40) * 5), true],
    ['a single peak', series(60, (index) => (index === 50 ? 900 : 100)), false],
    ['a series that falls', series(60, (index) => 200 - index), false],
    ['a rise below a tenth', series(60, (index) => 100 + index / 10), false],
  ])('judges %s', (_, samples, grows) => {
    expect(growthOf(samples, 1)).toMatchObject({ judged: true, grows });
  });

  it('ignores a rise that is smaller than what matters', () => {
    const backlog = series(30, (index) => (index > 20 ? 2 : 0));
    expect(growthOf(backlog, 4)).toMatchObject({ thirds: [0, 0, 2], grows: false });
    expect(growthOf(backlog, 1).grows).toBe(true);
  });

  it('says nothing about a few samples', () => {
    expect(growthOf([1, 2, 4, 8, 16, 32], 0)).toMatchObject({ judged: false, grows: false });
  });
});

describe('the times of signals', () => {
  it('ends with the next workflow task that was completed', () => {
    const events = [
      { at: 0, completesTask: true },
      { at: 10, signal: 'carrier' },
      { at: 12 },
      { at: 13, signal: 'media' },
      { at: 40, completesTask: true },
      { at: 50, signal: 'carrier' },
    ];
    expect(signalTimes(events)).toEqual([
      { signal: 'carrier', receivedAt: 10, handledAt: 40 },
      { signal: 'media', receivedAt: 13, handledAt: 40 },
    ]);
  });
});

describe('the metrics of Temporal’s SDK', () => {
  it('adds up those of the queue of live calls', () => {
    const text = [
      '# TYPE temporal_sticky_cache_size gauge',
      'temporal_sticky_cache_size{namespace="default",task_queue="calls"} 250',
      'temporal_sticky_cache_size{namespace="default",task_queue="calls-background"} 3',
      'temporal_sticky_cache_total_forced_eviction_total{task_queue="calls"} 750',
      'temporal_workflow_task_replay_latency_seconds_count{task_queue="calls"} 900',
      'temporal_workflow_task_execution_failed_total{failure_reason="a",task_queue="calls"} 1',
      'temporal_workflow_task_execution_failed_total{failure_reason="b",task_queue="calls"} 2',
      'temporal_activity_execution_latency_seconds_count{activity_type="dialCallee",task_queue="calls"} 20',
      'temporal_activity_execution_latency_seconds_count{activity_type="extendHold",task_queue="calls"} 7',
    ].join('\n');
    const figures = { cached: 250, evicted: 750, replayed: 900, failed: 3, holds: 7 };
    expect(cacheFiguresOf(text, 'calls')).toEqual(figures);
  });
});
