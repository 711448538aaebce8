import { axisValues } from '../../src/portal/app/components/charts/axis';
import {
  axisTime,
  columnsOf,
  milliseconds,
  quantile,
  roundedTime,
} from '../../src/portal/app/components/call/latency/latency-shape';

describe('the columns of latencies', () => {
  it('stack the stages in their order, and show what they leave of the total', () => {
    const stages = [
      { stage: 'tts' as const, ms: 100 },
      { stage: 'stt' as const, ms: 200 },
      { stage: 'llm' as const, ms: 0 },
    ];
    expect(columnsOf([{ at_ms: 2_600, total_ms: 350, stages }])).toEqual([
      {
        number: 1,
        atMs: 2_600,
        totalMs: 350,
        parts: [
          { stage: 'stt', fromMs: 0, ms: 200 },
          { stage: 'tts', fromMs: 200, ms: 100 },
          { stage: 'other', fromMs: 300, ms: 50 },
        ],
      },
    ]);
  });

  it('show the total of an engine that knows no stages', () => {
    const [column] = columnsOf([{ at_ms: 0, total_ms: 700, stages: [] }]);
    expect(column?.parts).toEqual([{ stage: 'other', fromMs: 0, ms: 700 }]);
  });

  it('are not shortened if the stages exceed the total', () => {
    const [column] = columnsOf([{ at_ms: 0, total_ms: 10, stages: [{ stage: 'llm', ms: 12 }] }]);
    expect(column?.parts).toEqual([{ stage: 'llm', fromMs: 0, ms: 12 }]);
  });
});

describe('the axis of latencies', () => {
  it.each([
    [0, [0, 1]],
    [2, [0, 1, 2]],
    [7, [0, 2, 4, 6, 8]],
    [740, [0, 200, 400, 600, 800]],
    [1_000, [0, 200, 400, 600, 800, 1_000]],
    [1_240, [0, 500, 1_000, 1_500]],
    [5_004, [0, 2_000, 4_000, 6_000]],
    [15_000, [0, 5_000, 10_000, 15_000]],
  ])('up to %i ms has few round whole numbers', (most, values) => {
    expect(axisValues(Math.max(1, most))).toEqual(values);
  });
});

it.each([
  [2, ['0 ms', '1 ms', '2 ms']],
  [740, ['0 ms', '200 ms', '400 ms', '600 ms', '800 ms']],
  [950, ['0.0 s', '0.2 s', '0.4 s', '0.6 s', '0.8 s', '1.0 s']],
  [1_600, ['0.0 s', '0.5 s', '1.0 s', '1.5 s', '2.0 s']],
  [2_501, ['0 s', '1 s', '2 s', '3 s']],
  [5_004, ['0 s', '2 s', '4 s', '6 s']],
])('an axis up to %i ms has one unit', (most, labels) => {
  const values = axisValues(most);
  expect(values.map((value) => axisTime(value, values.at(-1) ?? 0))).toEqual(labels);
});

it('a quantile is one of the values', () => {
  expect(quantile([], 0.5)).toBeUndefined();
  expect(quantile([5], 0.95)).toBe(5);
  expect(quantile([30, 10, 20], 0.5)).toBe(20);
  expect(
    quantile(
      Array.from({ length: 100 }, (_, index) => index + 1),
      0.95,
    ),
  ).toBe(95);
});

it('milliseconds are shown with the unit that fits', () => {
  expect([740, 999.4, 1_000, 1_240].map(milliseconds)).toEqual(['740 ms', '999 ms', '1.00 s', '1.24 s']);
});

it('a short response time is not rounded to zero', () => {
  expect([3, 49, 99.6, 100, 1_249].map(roundedTime)).toEqual(['3 ms', '49 ms', '100 ms', '0.1 s', '1.2 s']);
});
