import { watchSilence } from '../../src/voice/session/silence-watch.js';

describe('the watch over silence', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  function begin() {
    const told: string[] = [];
    const state = { busy: false };
    const watch = watchSilence({
      isBusy: () => state.busy,
      onPrompt: () => told.push('prompt'),
      onEnd: () => told.push('end'),
      now: () => Date.now(),
    });
    watch.start();
    return { told, state, watch };
  }

  it('asks once after 10 s and ends after 30 s, once', () => {
    const { told } = begin();
    jest.advanceTimersByTime(9_800);
    expect(told).toEqual([]);
    jest.advanceTimersByTime(400);
    expect(told).toEqual(['prompt']);
    jest.advanceTimersByTime(19_600);
    expect(told).toEqual(['prompt']);
    jest.advanceTimersByTime(400);
    expect(told).toEqual(['prompt', 'end']);
    jest.advanceTimersByTime(120_000);
    expect(told).toEqual(['prompt', 'end']);
  });

  it('begins anew with every word of the caller, and asks again in the next silence', () => {
    const { told, watch } = begin();
    jest.advanceTimersByTime(11_000);
    watch.callerHeard();
    jest.advanceTimersByTime(9_000);
    expect(told).toEqual(['prompt']);
    jest.advanceTimersByTime(1_400);
    expect(told).toEqual(['prompt', 'prompt']);
  });

  it('gives the caller all the time after a line of the agent', () => {
    const { told, watch } = begin();
    jest.advanceTimersByTime(9_000);
    watch.agentDone();
    jest.advanceTimersByTime(9_000);
    expect(told).toEqual([]);
  });

  it('counts nothing as over while somebody speaks, and is at an end when stopped', () => {
    const { told, state, watch } = begin();
    state.busy = true;
    jest.advanceTimersByTime(60_000);
    expect(told).toEqual([]);
    watch.stop();
    state.busy = false;
    jest.advanceTimersByTime(60_000);
    expect(told).toEqual([]);
    expect(jest.getTimerCount()).toBe(0);
  });
});
