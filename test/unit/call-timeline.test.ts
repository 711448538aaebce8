import { callName, detailLabel, nameOfAgent } from '../../src/portal/app/labels.js';
import { callView, type CallRecords } from '../../src/calls/views/call-views.js';
import { timelineOf, type TimelineRecords } from '../../src/calls/views/timeline.js';

const AT = new Date('2026-11-23T10:00:00Z');

describe('the timeline of a call', () => {
  it('has one label for why the call and its audio ended, and keeps free text', () => {
    expect(detailLabel('end_reason', 'agent_hangup')).toEqual(['End reason', 'Agent hung up']);
    expect(detailLabel('reason', 'agent_hangup')).toEqual(['Reason', 'Agent hung up']);
    expect(detailLabel('reason', 'carrier_stop')).toEqual(['Reason', 'Carrier stop']);
    expect(detailLabel('reason', 'the provider timed out')).toEqual(['Reason', 'the provider timed out']);
  });

  it('says in plain words which provider failed, how, and in which request', () => {
    const records = {
      call: { _id: 'call_1', createdAt: AT, updatedAt: AT, changes: [] },
      request: null,
      result: {
        startedAt: AT,
        failures: [
          {
            at: new Date(AT.getTime() + 1_000),
            part: 'recogniser',
            what: 'the speech-to-text provider rejected the connection with status 429',
            provider: 'deepgram',
            status: 429,
            requestId: '1f-2',
            message: 'Too many requests.',
          },
          { at: new Date(AT.getTime() + 2_000), part: 'voice', what: 'the text-to-speech provider returned no audio' },
          { at: new Date(AT.getTime() + 3_000), part: 'realtime', what: 'the provider timed out', provider: 'openai' },
        ],
      },
      carrierEvents: [],
      money: { windows: [] },
      attempts: [],
    } as unknown as CallRecords;
    expect(callView(records, 'https://calls.example.com').timeline.slice(2)).toEqual([
      {
        at: '2026-11-23T10:00:01.000Z',
        source: 'media',
        event: 'provider_failed',
        details: {
          stage: 'stt',
          reason: 'the speech-to-text provider rejected the connection with status 429',
          provider: 'deepgram',
          status: 429,
          request_id: '1f-2',
          message: 'Too many requests.',
        },
      },
      {
        at: '2026-11-23T10:00:02.000Z',
        source: 'media',
        event: 'provider_failed',
        details: { stage: 'tts', reason: 'the text-to-speech provider returned no audio' },
      },
      {
        at: '2026-11-23T10:00:03.000Z',
        source: 'media',
        event: 'provider_failed',
        details: { stage: 'realtime', reason: 'the provider timed out', provider: 'openai' },
      },
    ]);
  });
});

describe('the order of a timeline', () => {
  const at = (ms: number) => new Date(AT.getTime() + ms);
  const carrier = (sequence: number, status: string, second: number, receivedAt: number) => ({
    sequence,
    status,
    at: at(second),
    createdAt: at(receivedAt),
  });

  /** Returns the events of a call whose carrier reports whole seconds, as carriers do. */
  function timelineNames(carrierEvents: readonly unknown[], held = 0): string[] {
    const records = {
      call: {
        createdAt: at(476),
        changes: [
          { sequence: 1, at: at(681), status: 'RINGING' },
          { sequence: 2, at: at(2_858), status: 'IN_PROGRESS' },
          { sequence: 3, at: at(28_863), status: 'COMPLETED' },
        ],
      },
      result: { startedAt: at(2_957), endedAt: at(28_581) },
      carrierEvents,
      money: { windows: held === 0 ? [] : [{ at: at(held), window: 0, heldSeconds: 60 }] },
      attempts: [],
    } as unknown as TimelineRecords;
    return timelineOf(records).map(({ source, event }) => `${source} ${event}`);
  }

  it('has a cause before its effect, although the carrier reports whole seconds', () => {
    const events = [
      carrier(0, 'initiated', 1_000, 1_725),
      carrier(1, 'in-progress', 2_000, 2_817),
      carrier(2, 'completed', 28_000, 28_572),
    ];
    expect(timelineNames(events, 1_089)).toEqual([
      'call requested',
      'call RINGING',
      'money hold',
      'carrier initiated',
      'carrier in-progress',
      'call IN_PROGRESS',
      'media stream_started',
      'carrier completed',
      'media stream_ended',
      'call COMPLETED',
    ]);
  });

  it('follows the carrier’s sequence numbers, even if its events arrive in another order', () => {
    const events = [carrier(1, 'ringing', 1_000, 1_100), carrier(0, 'initiated', 1_000, 1_900)];
    const names = timelineNames(events).filter((name) => name.startsWith('carrier'));
    expect(names).toEqual(['carrier initiated', 'carrier ringing']);
  });

  it('does not depend on the order in which the events are read, although one has no sequence number', () => {
    const [late, early] = [carrier(2, 'completed', 1_000, 1_100), carrier(1, 'ringing', 1_000, 1_900)];
    const rejected = { status: 'rejected', createdAt: at(1_500) };
    const names = [
      [late, rejected, early],
      [early, rejected, late],
      [rejected, late, early],
    ].map((events) => timelineNames(events).filter((name) => name.startsWith('carrier')));
    expect(new Set(names.map(String))).toEqual(new Set(['carrier ringing,carrier rejected,carrier completed']));
  });

  it('has causes before effects and numbers in order, of events at the same time', () => {
    const sameTime = (names: readonly string[]) => {
      const changes = names.map((status, index) => ({ sequence: index + 1, at: at(1_000), status }));
      const records = {
        call: { createdAt: at(0), changes: changes.toReversed() },
        result: { startedAt: at(1_000) },
        carrierEvents: [carrier(0, 'in-progress', 0, 1_000 - 1), carrier(1, 'completed', 1_000, 1_000)],
        money: { windows: [{ at: at(1_000), window: 0, heldSeconds: 60 }] },
        attempts: [{ startedAt: at(1_000), number: 1 }],
      } as unknown as TimelineRecords;
      return timelineOf(records).map(({ source, event }) => `${source} ${event}`);
    };
    expect(sameTime(['RINGING', 'IN_PROGRESS'])).toEqual([
      'call requested',
      'carrier in-progress',
      'carrier completed',
      'call RINGING',
      'call IN_PROGRESS',
      'media stream_started',
      'money hold',
      'webhook attempt',
    ]);
  });

  it('begins with the request, even if the clock of another machine is behind', () => {
    expect(timelineNames([carrier(0, 'initiated', 0, 100)])[0]).toBe('call requested');
  });
});

describe('the details of a timeline in the portal', () => {
  it.each([
    ['seconds', 60, ['For', '1 min']],
    ['duration_seconds', 26, ['Duration', '26 s']],
    ['ends_after_seconds', 3_690, ['Ends after', '1 h 1 min 30 s']],
    ['window', 0, ['Window', '1']],
    ['billed_micros', 65_000, ['Billed', '$0.0650']],
    ['estimated', false, ['Estimated', 'No']],
    ['end_reason', 'callee_hangup', ['End reason', 'Callee hung up']],
    ['reason', 'carrier_stop', ['Reason', 'Carrier stop']],
    ['message', 'Too many requests.', ['Message', 'Too many requests.']],
  ])('show %s %s with readable units', (name, value, shown) => {
    expect(detailLabel(name, value)).toEqual(shown);
  });
});

describe('the names of a call and its agent in the portal', () => {
  it('say who talked in the browser', () => {
    const call = { call_direction: 'inbound', from_phone_number: 'web:Ada', to_phone_number: 'web' } as const;
    expect(callName({ ...call, agent_name: 'Dentist' })).toBe('Call from Ada (browser) · Dentist');
    expect(callName({ ...call, from_phone_number: '+12025550123' })).toBe('Call from +12025550123');
  });

  it('are those of a draft, too, and an id after erasure', () => {
    expect(nameOfAgent({ agent_id: 'agent_tmp_1', agent_name: 'Dentist' })).toBe('Dentist');
    expect(nameOfAgent({ agent_id: 'agent_tmp_1' })).toBe('Temporary agent');
    expect(nameOfAgent({ agent_id: 'agent_1' })).toBe('agent_1');
  });
});
