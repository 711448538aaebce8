import { newCall, type CallState } from '../../src/kernel/call-state';
import { reduceCall } from '../../src/calls/call-reducer';
import type { CallEvent } from '../../src/calls/call-events';
import {
  decideReconnect,
  MAX_UNSTARTED_STREAMS,
  MAX_PLANNED_RESUMPTIONS,
  MAX_RESUMPTIONS,
  MAX_STREAM_NUMBER,
} from '../../src/kernel/resumption';
import { sidOf } from '../support/sids.js';

const T = 1_700_000_000_000;
const SID = sidOf('CA', 0);

const answered: CallEvent[] = [
  { type: 'reserved', now: T },
  { type: 'dial_accepted', carrierSid: SID, now: T + 100 },
  { type: 'carrier_answered', carrierSid: SID, at: T + 2_000, now: T + 2_100 },
];
const lostStream = (agentAudioPlayed = true): CallEvent => ({
  type: 'stream_lost',
  at: T + 9_000,
  agentAudioPlayed,
  now: T + 9_100,
});
const rejectedStream = (): CallEvent => ({ ...lostStream(false), loss: 'never_started' }) as CallEvent;
const plannedClose = (): CallEvent => ({ ...lostStream(), loss: 'planned' }) as CallEvent;
const completed: CallEvent = {
  type: 'carrier_ended',
  carrierSid: SID,
  end: { status: 'completed', at: T + 12_000, durationSeconds: 10 },
  now: T + 12_100,
};

function play(events: readonly CallEvent[]): CallState {
  return events.reduce((state, event) => reduceCall(state, event).state, newCall('outbound'));
}
const repeated = (count: number, event: CallEvent) => Array.from({ length: count }, () => event);

describe('a call that lost its media stream', () => {
  it('gets up to three new streams, numbered from 1', () => {
    for (let before = 0; before < MAX_RESUMPTIONS; before++) {
      const state = play([...answered, ...repeated(before, lostStream())]);
      expect(decideReconnect(state)).toEqual({ decision: 'stream', resumption: before + 1 });
      expect(state.mediaEnd).toBeUndefined();
    }
  });

  it('is media_failed after the fourth loss: billed if the callee heard the agent, free otherwise', () => {
    const often = [...answered, ...repeated(MAX_RESUMPTIONS, lostStream())];
    expect(decideReconnect(play(often))).toEqual({ decision: 'hang_up', why: 'limit' });
    expect(play([...often, lostStream(), completed]).outcome).toMatchObject({
      status: 'COMPLETED',
      endReason: 'media_failed',
      billableSeconds: 10,
    });
    expect(play([...often, lostStream(false), completed]).outcome).toMatchObject({
      status: 'FAILED',
      endReason: 'media_failed',
      billableSeconds: 0,
    });
  });

  it('gets up to five rejected streams in addition to the three', () => {
    const state = play([
      ...answered,
      rejectedStream(),
      lostStream(),
      ...repeated(MAX_UNSTARTED_STREAMS - 1, rejectedStream()),
    ]);
    expect(decideReconnect(state, 'never_started')).toEqual({ decision: 'hang_up', why: 'limit' });
    expect(decideReconnect(state)).toEqual({ decision: 'stream', resumption: 7 });
    const spent = play([...answered, rejectedStream(), ...repeated(MAX_RESUMPTIONS, lostStream())]);
    expect(decideReconnect(spent)).toEqual({ decision: 'hang_up', why: 'limit' });
    expect(decideReconnect(spent, 'never_started')).toEqual({ decision: 'stream', resumption: 5 });
  });

  it('gets up to 20 streams for those that media servers closed to stop, apart from the others', () => {
    const often = [...answered, ...repeated(MAX_PLANNED_RESUMPTIONS, plannedClose())];
    expect(MAX_PLANNED_RESUMPTIONS).toBe(20);
    expect(decideReconnect(play(often), 'planned')).toEqual({ decision: 'hang_up', why: 'limit' });
    expect(decideReconnect(play(often))).toEqual({ decision: 'stream', resumption: 21 });
    expect(decideReconnect(play(often), 'never_started')).toEqual({ decision: 'stream', resumption: 21 });
    const lost = [...often, ...repeated(MAX_RESUMPTIONS, lostStream())];
    expect(decideReconnect(play(lost))).toEqual({ decision: 'hang_up', why: 'limit' });
  });

  it('gets stream numbers that only grow, of two digits at most, and ends at the limit', () => {
    const all = [
      ...repeated(MAX_UNSTARTED_STREAMS, rejectedStream()),
      ...repeated(MAX_RESUMPTIONS, lostStream()),
      ...repeated(MAX_PLANNED_RESUMPTIONS, plannedClose()),
    ];
    const state = play([...answered, ...all]);
    // The URL that the carrier requests after a stream has at most two digits for the stream number.
    expect(state.resumptions).toBe(MAX_STREAM_NUMBER);
    expect(MAX_STREAM_NUMBER).toBeLessThan(100);
    expect(play([...answered, ...all, rejectedStream(), completed]).outcome).toMatchObject({
      status: 'FAILED',
      endReason: 'media_failed',
      billableSeconds: 0,
    });
  });

  it.each<[string, CallEvent]>([
    ['the carrier has ended it', completed],
    ['a hang-up was requested', { type: 'hang_up_requested', cause: 'api_hangup', now: T + 8_000 }],
    ['the balance is exhausted', { type: 'hang_up_requested', cause: 'balance_exhausted', now: T + 8_000 }],
    [
      'the agent has said goodbye',
      { type: 'media_ended', end: { reason: 'agent_hangup', at: T + 8_000, agentAudioPlayed: true }, now: T + 8_000 },
    ],
  ])('is hung up and keeps its end if %s', (_, end) => {
    const before = play([...answered, end]);
    expect(decideReconnect(before)).toEqual({ decision: 'hang_up', why: 'over' });
    expect(play([...answered, end, lostStream()])).toEqual(before);
  });

  it('is hung up if its status is final', () => {
    const state = play([...answered, completed, { type: 'media_wait_over', now: T + 17_000 }]);
    expect(state.outcome).toBeDefined();
    expect(decideReconnect(state)).toEqual({ decision: 'hang_up', why: 'over' });
  });

  it('ends as the carrier reports if the carrier continued it', () => {
    expect(
      play([...answered, lostStream(), completed, { type: 'media_wait_over', now: T + 17_000 }]).outcome,
    ).toMatchObject({
      status: 'COMPLETED',
      endReason: 'callee_hangup',
      billableSeconds: 10,
    });
  });
});
