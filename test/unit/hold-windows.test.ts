import { extensionLeadMs, HOLD_WINDOW_SECONDS, MAX_CALL_SECONDS, windowRequest } from '../../src/domain/hold-windows';

describe('hold windows', () => {
  it('are 60, 180, 720, 2,880 and 10,560 s, four hours in all', () => {
    expect(HOLD_WINDOW_SECONDS).toEqual([60, 180, 720, 2_880, 10_560]);
    expect(HOLD_WINDOW_SECONDS.reduce((sum, seconds) => sum + seconds)).toBe(MAX_CALL_SECONDS);
  });

  it('never clip the first one, even for a limit of 30 s', () => {
    expect(windowRequest(0, 0, 30)).toEqual({ seconds: 60, micros: 150_000, last: false });
  });

  it('clip the later ones to the maximum duration and make a clipped one the last', () => {
    expect(windowRequest(1, 60, 600)).toEqual({ seconds: 180, micros: 450_000, last: false });
    expect(windowRequest(2, 240, 600)).toEqual({ seconds: 360, micros: 900_000, last: true });
    expect(windowRequest(4, 3_840, 14_400)).toEqual({ seconds: 10_560, micros: 26_400_000, last: true });
  });

  it('ask for nothing when the maximum is held already', () => {
    expect(windowRequest(1, 60, 30).seconds).toBe(0);
  });

  it('are extended 15 s before their end, short ones a quarter of their length before', () => {
    expect(extensionLeadMs(60)).toBe(15_000);
    expect(extensionLeadMs(180)).toBe(15_000);
    expect(extensionLeadMs(4)).toBe(1_000);
  });
});
