import {
  advanceCall,
  isOver,
  type CallCourse,
  type CallProgress,
  type SimulatedCallAction,
  type SimulatedCallEvent,
} from '../../src/telephony/simulator/call-progress.js';
import type { TwimlSource } from '../../src/telephony/simulator/instructions/source.js';

const SOURCE: TwimlSource = { kind: 'url', target: { url: 'https://host/twiml', method: 'POST' } };
const TARGET = { url: 'https://host/amd', method: 'POST' } as const;
const COURSE: CallCourse = {
  source: SOURCE,
  ringSeconds: 60,
  ring: { outcome: 'answer', seconds: 2 },
  timeScale: 0.5,
};
const START = 1_000_000;

const queued: CallProgress = { status: 'queued', updatedAt: START };
const ringing: CallProgress = { status: 'ringing', updatedAt: START, startedAt: START };
const answered: CallProgress = { ...ringing, status: 'in-progress', answeredAt: START };

function advance(call: CallProgress, event: SimulatedCallEvent, course: Partial<CallCourse> = {}, now = START + 1_000) {
  return advanceCall(call, event, { ...COURSE, ...course }, now);
}
const ended = (call: CallProgress, status: CallProgress['status'], sipCode: number, now = START + 1_000) => [
  { ...call, status, sipCode, updatedAt: now, endedAt: now },
  [{ do: 'stop' }, { do: 'reportStatus', event: 'completed' }],
];
const names = (actions: SimulatedCallAction[]) => actions.map((action) => action.do);

describe('an outbound call', () => {
  it('is dialed, rings, and is answered when the callee acts', () => {
    expect(advance(queued, { type: 'placed' })).toEqual([
      queued,
      [{ do: 'setTimer', timer: 'dialing', ms: 20, event: { type: 'dialed' } }],
    ]);
    expect(advance(queued, { type: 'dialed' })).toEqual([
      queued,
      [
        { do: 'reportStatus', event: 'initiated' },
        { do: 'setTimer', timer: 'connecting', ms: 100, event: { type: 'connected' } },
      ],
    ]);
    expect(advance(queued, { type: 'connected' }, {}, START)).toEqual([
      ringing,
      [
        { do: 'reportStatus', event: 'ringing' },
        { do: 'setTimer', timer: 'ringTimeout', ms: 60_000, event: { type: 'ringTimedOut' } },
        { do: 'setTimer', timer: 'callee', ms: 1_000, event: { type: 'calleeActed' } },
      ],
    ]);
    expect(advance(ringing, { type: 'calleeActed' }, {}, START)).toEqual([
      { ...answered },
      [
        { do: 'clearTimers' },
        { do: 'reportStatus', event: 'answered' },
        { do: 'openLine' },
        { do: 'follow', source: SOURCE },
      ],
    ]);
  });

  it('is dialed later if it is queued', () => {
    const [, actions] = advance(queued, { type: 'placed', queuedMs: 3_000 });
    expect(actions).toMatchObject([{ do: 'setTimer', timer: 'dialing', ms: 3_020 }]);
  });

  it('rings until the ring timeout if the callee does not answer', () => {
    const [, actions] = advance(queued, { type: 'connected' }, { ring: { outcome: 'nothing', seconds: 0 } });
    expect(actions).not.toContainEqual(expect.objectContaining({ timer: 'callee' }));
    expect(advance(ringing, { type: 'ringTimedOut' })).toEqual(ended(ringing, 'no-answer', 487));
  });

  it('ends when the callee rejects it, without ringing if the callee reacts at once', () => {
    const rejected = { outcome: 'failed', seconds: 2, sip: 603 } as const;
    expect(advance(ringing, { type: 'calleeActed' }, { ring: rejected })).toEqual(ended(ringing, 'failed', 603));
    const busy = { outcome: 'busy', seconds: 0 } as const;
    expect(advance(queued, { type: 'connected' }, { ring: busy })).toEqual(ended(queued, 'busy', 503));
  });
});

it('an inbound call rings and follows its instructions at once', () => {
  expect(advance(queued, { type: 'arrived' }, {}, START)).toEqual([ringing, [{ do: 'follow', source: SOURCE }]]);
});

describe('a verb that needs an answered call', () => {
  it('answers a ringing call once and leaves an ended call alone', () => {
    const [call, actions] = advance(ringing, { type: 'lineNeeded' }, {}, START);
    expect(call).toEqual(answered);
    expect(names(actions)).toEqual(['clearTimers', 'reportStatus', 'openLine']);
    expect(advance(answered, { type: 'lineNeeded' })).toEqual([answered, []]);
    const over = { ...ringing, endedAt: START };
    expect(advance(over, { type: 'lineNeeded' })).toEqual([over, []]);
  });
});

describe('a time limit', () => {
  const limit = (ms: number, at: number) => ({
    do: 'setTimer',
    timer: 'limit',
    ms,
    event: { type: 'limitReached', at },
  });

  it('counts from the answer', () => {
    const limited = { ...ringing, timeLimitSeconds: 10 };
    const [, actions] = advance(limited, { type: 'lineNeeded' }, {}, START);
    expect(actions.at(-1)).toEqual(limit(10_000, START + 10_000));
    expect(advance(ringing, { type: 'limited', seconds: 10 })[1]).toEqual([]);
  });

  it('counts from the answer if it is set later, and ends no earlier than now', () => {
    const now = START + 4_000;
    expect(advance(answered, { type: 'limited', seconds: 10 }, {}, now)).toEqual([
      { ...answered, timeLimitSeconds: 10, updatedAt: now },
      [limit(6_000, START + 10_000)],
    ]);
    expect(advance(answered, { type: 'limited', seconds: 1 }, {}, now)[1]).toEqual([limit(0, now)]);
  });

  it('sets the end of the call to the limit when its timer fires late', () => {
    const [call] = advance(answered, { type: 'limitReached', at: START + 10_000 }, {}, START + 10_250);
    expect(call).toMatchObject({ status: 'completed', sipCode: 200, endedAt: START + 10_000 });
  });
});

describe('answering machine detection', () => {
  const detected = { type: 'machineDetected', answeredBy: 'machine_start', ms: 4_000 } as const;

  it('with a callback URL runs beside the instructions and reports its result', () => {
    const [, actions] = advance(ringing, { type: 'calleeActed' }, { detection: { target: TARGET } });
    expect(names(actions).slice(-2)).toEqual(['follow', 'detectMachine']);
    expect(advance(answered, detected, { detection: { target: TARGET } })).toEqual([
      { ...answered, answeredBy: 'machine_start' },
      [{ do: 'reportAnsweredBy', target: TARGET, answeredBy: 'machine_start', ms: 4_000 }],
    ]);
  });

  it('without a callback URL delays the instructions and adds its result to their request', () => {
    const [, actions] = advance(ringing, { type: 'calleeActed' }, { detection: {} });
    expect(names(actions)).not.toContain('follow');
    const extra = { AnsweredBy: 'machine_start', MachineDetectionDuration: '4000' };
    expect(advance(answered, detected, { detection: {} })[1]).toEqual([{ do: 'follow', source: { ...SOURCE, extra } }]);
    const inline: TwimlSource = { kind: 'inline', twiml: '<Response/>' };
    expect(advance(answered, detected, { detection: {}, source: inline })[1]).toEqual([
      { do: 'follow', source: inline },
    ]);
  });
});

describe('a call ends', () => {
  it.each([
    ['done', answered, 'completed', 200],
    ['failed', answered, 'completed', 200],
    ['broken', answered, 'completed', 500],
    ['rejected', ringing, 'busy', 603],
    ['done', ringing, 'failed', 503],
    ['failed', ringing, 'failed', 503],
    ['broken', ringing, 'failed', 500],
  ] as const)('with its instructions: %s', (outcome, call, status, sipCode) => {
    expect(advance(call, { type: 'instructionsEnded', outcome })).toEqual(ended(call, status, sipCode));
  });

  it('when either party hangs up', () => {
    expect(advance(ringing, { type: 'hungUp' })).toEqual(ended(ringing, 'canceled', 487));
    expect(advance(answered, { type: 'hungUp' })).toEqual(ended(answered, 'completed', 200));
  });

  it('only once', () => {
    const [over] = advance(answered, { type: 'hungUp' });
    expect(isOver(over)).toBe(true);
    for (const type of ['hungUp', 'ringTimedOut'] as const) expect(advance(over, { type })).toEqual([over, []]);
    expect(advance(over, { type: 'instructionsEnded', outcome: 'done' })).toEqual([over, []]);
  });

  it('without a status callback when the carrier stops', () => {
    expect(advance(answered, { type: 'abandoned' })).toEqual([
      { ...answered, endedAt: START + 1_000 },
      [{ do: 'stop' }],
    ]);
    const over = { ...answered, endedAt: START };
    expect(advance(over, { type: 'abandoned' })[0]).toEqual(over);
  });
});

it('a redirected call follows the other instructions', () => {
  expect(advance(answered, { type: 'redirected', source: SOURCE })).toEqual([
    answered,
    [{ do: 'follow', source: SOURCE }],
  ]);
});
