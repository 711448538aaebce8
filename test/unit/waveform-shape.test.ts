import { columnHeights, talkTimes, timeTicks, turnAt } from '../../src/portal/app/components/call/waveform-shape';

describe('the columns of a waveform', () => {
  it('are each the loudest of their parts, so that no sound is lost', () => {
    const peaks = Array.from({ length: 1_500 }, (_, part) => (part === 777 ? 255 : 0));
    const heights = columnHeights(peaks, 400, 255);
    expect(heights).toHaveLength(400);
    expect(heights.filter((height) => height > 0)).toEqual([1]);
  });

  it('are as many as there are parts, if there is more room', () => {
    expect(columnHeights([255, 0, 64], 400, 255)).toEqual([1, 0, expect.closeTo(0.5, 2)]);
    expect(columnHeights([255], 0, 255)).toEqual([]);
    expect(columnHeights([], 400, 0)).toEqual([]);
  });

  it('are larger in a quiet recording, but noise stays small', () => {
    expect(columnHeights([100], 1, 100)).toEqual([1]);
    expect(columnHeights([3], 1, 3)).toEqual([0.25]);
  });
});

describe('the time axis', () => {
  it.each([
    [4, 640, [0, 1, 2, 3]],
    [47, 640, [0, 5, 10, 15, 20, 25, 30, 35, 40]],
    // The label of 3:30 would be cut off at the end.
    [214, 640, [0, 30, 60, 90, 120, 150, 180]],
    [600, 320, [0, 120, 240, 360, 480]],
    [
      14_400,
      1_180,
      [0, 900, 1_800, 2_700, 3_600, 4_500, 5_400, 6_300, 7_200, 8_100, 9_000, 9_900, 10_800, 11_700, 12_600, 13_500],
    ],
    [14_400, 100, [0]],
    [0, 640, []],
    [47, 0, []],
  ])('of %i s in %i px has labels that fit', (duration, width, ticks) => {
    expect(timeTicks(duration, width)).toEqual(ticks);
  });
});

describe('the turn that is heard', () => {
  const turns = [{ start_ms: 500 }, { start_ms: 4_000 }, { start_ms: 9_000 }];

  it.each([
    [0, -1],
    [500, 0],
    [3_999, 0],
    [4_000, 1],
    [100_000, 2],
  ])('at %i ms is number %i', (ms, index) => {
    expect(turnAt(turns, ms)).toBe(index);
  });

  it('does not exist without turns', () => {
    expect(turnAt([], 5)).toBe(-1);
  });
});

describe('talk times', () => {
  it('count overlapping turns of a speaker once', () => {
    const turn = (speaker: 'agent' | 'caller', start_ms: number, end_ms: number) => ({ speaker, start_ms, end_ms });
    const turns = [turn('agent', 0, 3_000), turn('caller', 1_000, 2_000), turn('agent', 2_000, 4_000)];
    expect(talkTimes(turns)).toEqual({ agent: 4_000, caller: 1_000 });
    expect(talkTimes([turn('agent', 0, 3_000), turn('agent', 1_000, 2_000)])).toEqual({ agent: 3_000, caller: 0 });
  });
});
