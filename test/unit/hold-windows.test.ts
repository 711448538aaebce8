import {
  extensionLeadMs,
  forecastEnd,
  HOLD_WINDOW_SECONDS,
  MAX_CALL_SECONDS,
  windowRequest,
} from '../../src/kernel/hold-windows';

const request = (window: number, heldSeconds: number, maxDurationSeconds: number, microsPerSecond = 2_500) =>
  windowRequest(window, { heldSeconds, maxDurationSeconds, microsPerSecond });

describe('hold windows', () => {
  it('are 60, 180, 720, 2,880 and 10,560 s, four hours in all', () => {
    expect(HOLD_WINDOW_SECONDS).toEqual([60, 180, 720, 2_880, 10_560]);
    expect(HOLD_WINDOW_SECONDS.reduce((sum, seconds) => sum + seconds)).toBe(MAX_CALL_SECONDS);
  });

  it('have a full first window even for a limit of 30 s', () => {
    expect(request(0, 0, 30)).toEqual({ seconds: 60, micros: 150_000, last: false });
  });

  it('are shortened to the maximum duration after the first, and a shortened one is the last', () => {
    expect(request(1, 60, 600)).toEqual({ seconds: 180, micros: 450_000, last: false });
    expect(request(2, 240, 600)).toEqual({ seconds: 360, micros: 900_000, last: true });
    expect(request(4, 3_840, 14_400)).toEqual({ seconds: 10_560, micros: 26_400_000, last: true });
  });

  it('request no seconds if the maximum duration is held already', () => {
    expect(request(1, 60, 30).seconds).toBe(0);
  });

  it('cost their seconds times the rate of the call', () => {
    expect(request(0, 0, 600, 40_000)).toEqual({ seconds: 60, micros: 2_400_000, last: false });
    expect(request(2, 240, 600, 833)).toEqual({ seconds: 360, micros: 299_880, last: true });
  });

  it('forecast the second at which the balance ends the call', () => {
    const terms = { heldSeconds: 60, maxDurationSeconds: 600, microsPerSecond: 40_000 };
    expect(forecastEnd(1, terms, 180 * 40_000)).toBeUndefined();
    expect(forecastEnd(1, terms, 180 * 40_000 - 1)).toBe(239);
    expect(forecastEnd(1, { ...terms, microsPerSecond: 2_500 }, 180 * 40_000 - 1)).toBeUndefined();
    expect(forecastEnd(1, { ...terms, maxDurationSeconds: 60 }, 0)).toBeUndefined();
  });

  it('are extended 15 s before their end, short ones by a quarter of their length before', () => {
    expect(extensionLeadMs(60)).toBe(15_000);
    expect(extensionLeadMs(180)).toBe(15_000);
    expect(extensionLeadMs(4)).toBe(1_000);
  });
});
