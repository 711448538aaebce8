import {
  advanceStream,
  type SimulatedStreamAction,
  type StreamBreak,
  type StreamProgress,
} from '../../src/telephony/simulator/media/stream-progress.js';

const FRESH: StreamProgress = { isBrokenOff: false };
const RESET: StreamBreak = { how: 'reset', afterMs: 3_000, goOnAfterMs: 0 };
const SILENCE: StreamBreak = { how: 'silence', afterMs: 3_000, goOnAfterMs: 500 };
const GONE: SimulatedStreamAction[] = [{ do: 'detach' }, { do: 'clearTimers' }, { do: 'forgetCall' }, { do: 'finish' }];

describe('a media stream of the simulated carrier', () => {
  it('starts when its socket opens', () => {
    expect(advanceStream(FRESH, { type: 'opened' })).toEqual([FRESH, [{ do: 'start' }]]);
  });

  it('ends when its socket closes, and keeps the first reason', () => {
    const closed = { type: 'closed', code: 1_005 } as const;
    expect(advanceStream(FRESH, closed)).toEqual([{ ...FRESH, end: 'closed by the customer (1005)' }, GONE]);
    const failed = { ...FRESH, end: 'ECONNRESET' };
    expect(advanceStream(failed, closed)).toEqual([failed, GONE]);
  });

  it.each([
    ['ECONNREFUSED', 31902, 'ECONNREFUSED'],
    ['ECONNRESET', 31901, 'ECONNRESET'],
    [undefined, 31901, 'error'],
  ])('records the error %s once', (code, noted, end) => {
    const failed = { type: 'failed', code, message: 'broken frame' } as const;
    const message = `The stream failed: ${code ?? 'broken frame'}`;
    const expected = [{ ...FRESH, end }, [{ do: 'logError', code: noted, message }]] as const;
    expect(advanceStream(FRESH, failed)).toEqual(expected);
    expect(advanceStream(expected[0], failed)).toEqual([expected[0], []]);
  });

  it('ends with the status of a rejected upgrade', () => {
    const [stream, actions] = advanceStream(FRESH, { type: 'upgradeRejected', status: 403 });
    expect(stream.end).toBe('rejected with 403');
    expect(actions).toEqual([
      { do: 'logError', code: 31920, message: 'The WebSocket upgrade was rejected with status 403.' },
      { do: 'terminate' },
    ]);
  });

  it('closes after a message that violates the protocol', () => {
    const [stream, actions] = advanceStream(FRESH, { type: 'messageRejected' });
    expect(stream.end).toBe('protocol error');
    expect(actions).toEqual([expect.objectContaining({ code: 31924 }), { do: 'close', code: 1_002 }]);
  });
});

describe('a media stream of an ended or redirected call', () => {
  const dropped = { ...FRESH, end: 'call over' };

  it('sends stop, closes, and is terminated if the customer does not close', () => {
    expect(advanceStream(FRESH, { type: 'dropped', isOpen: true })).toEqual([
      dropped,
      [
        { do: 'detach' },
        { do: 'clearTimers' },
        { do: 'sendStop' },
        { do: 'close', code: 1_000 },
        { do: 'setTimer', timer: 'lastResort', ms: 2_000, event: { type: 'closeTimedOut' } },
      ],
    ]);
    expect(advanceStream(dropped, { type: 'closeTimedOut' })).toEqual([dropped, [{ do: 'terminate' }]]);
    expect(advanceStream(dropped, { type: 'closed', code: 1_000 })).toEqual([dropped, GONE]);
  });

  it('is terminated at once if its socket is not open or it is already broken off', () => {
    const actions = [{ do: 'detach' }, { do: 'clearTimers' }, { do: 'terminate' }, { do: 'finish' }];
    expect(advanceStream(FRESH, { type: 'dropped', isOpen: false })).toEqual([dropped, actions]);
    const silent = { isBrokenOff: true, end: 'fell silent' };
    expect(advanceStream(silent, { type: 'dropped', isOpen: true })).toEqual([silent, actions]);
  });
});

describe('a media stream that the scenario breaks off', () => {
  it('breaks off after the configured time', () => {
    expect(advanceStream(FRESH, { type: 'opened' }, RESET)[1]).toEqual([
      { do: 'start' },
      { do: 'setTimer', timer: 'break', ms: 3_000, event: { type: 'breakDue' } },
    ]);
  });

  it.each([
    [RESET, 'reset by the carrier', 'reset', 0],
    [SILENCE, 'fell silent', 'pause', 500],
  ])('follows the plan %j', (plan, end, action, ms) => {
    expect(advanceStream(FRESH, { type: 'breakDue' }, plan)).toEqual([
      { isBrokenOff: true, end },
      [{ do: 'detach' }, { do: action }, { do: 'setTimer', timer: 'break', ms, event: { type: 'givenUp' } }],
    ]);
  });

  it('ends when the break is over, not when its socket closes', () => {
    const broken = { isBrokenOff: true, end: 'reset by the carrier' };
    expect(advanceStream(broken, { type: 'closed', code: 1_006 }, RESET)).toEqual([broken, []]);
    expect(advanceStream(broken, { type: 'givenUp' }, RESET)).toEqual([broken, [{ do: 'finish' }]]);
  });
});
