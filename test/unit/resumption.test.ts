import { newCall, type CallState } from '../../src/kernel/call-state';
import { reduceCall } from '../../src/calls/call-reducer';
import type { CallEvent } from '../../src/calls/call-events';
import { answerReconnect, MAX_REFUSED_STREAMS, MAX_RESUMPTIONS, MAX_STREAM_NUMBER } from '../../src/kernel/resumption';
import { sidOf } from '../support/sids.js';

const T = 1_700_000_000_000;
const SID = sidOf('CA', 0);

const answered: CallEvent[] = [
  { type: 'reserved', now: T },
  { type: 'dial_accepted', carrierSid: SID, now: T + 100 },
  { type: 'carrier_answered', carrierSid: SID, at: T + 2_000, now: T + 2_100 },
];
const lost = (agentAudioPlayed = true): CallEvent => ({
  type: 'stream_lost',
  at: T + 9_000,
  agentAudioPlayed,
  now: T + 9_100,
});
const refused = (): CallEvent => ({ ...lost(false), neverStarted: true }) as CallEvent;
const completed: CallEvent = {
  type: 'carrier_ended',
  carrierSid: SID,
  end: { status: 'completed', at: T + 12_000, durationSeconds: 10 },
  now: T + 12_100,
};

function play(events: readonly CallEvent[]): CallState {
  return events.reduce((state, event) => reduceCall(state, event).state, newCall('outbound'));
}
const times = (count: number, event: CallEvent) => Array.from({ length: count }, () => event);

describe('a call that lost its stream', () => {
  it('gets three new ones, numbered from 1', () => {
    for (let before = 0; before < MAX_RESUMPTIONS; before++) {
      const state = play([...answered, ...times(before, lost())]);
      expect(answerReconnect(state)).toEqual({ decision: 'stream', resumption: before + 1 });
      expect(state.mediaEnd).toBeUndefined();
    }
  });

  it('is media_failed when it loses the fourth: billed when the agent was heard, free when not', () => {
    const often = [...answered, ...times(MAX_RESUMPTIONS, lost())];
    expect(answerReconnect(play(often))).toEqual({ decision: 'hang_up', why: 'limit' });
    expect(play([...often, lost(), completed]).outcome).toMatchObject({
      status: 'COMPLETED',
      endReason: 'media_failed',
      billableSeconds: 10,
    });
    expect(play([...often, lost(false), completed]).outcome).toMatchObject({
      status: 'FAILED',
      endReason: 'media_failed',
      billableSeconds: 0,
    });
  });

  it('spends none of the three on streams that never started, of which it gets five', () => {
    const state = play([...answered, refused(), lost(), ...times(MAX_REFUSED_STREAMS - 1, refused())]);
    expect(answerReconnect(state, true)).toEqual({ decision: 'hang_up', why: 'limit' });
    expect(answerReconnect(state)).toEqual({ decision: 'stream', resumption: 7 });
    const spent = play([...answered, refused(), ...times(MAX_RESUMPTIONS, lost())]);
    expect(answerReconnect(spent)).toEqual({ decision: 'hang_up', why: 'limit' });
    expect(answerReconnect(spent, true)).toEqual({ decision: 'stream', resumption: 5 });
  });

  it('gets no stream of a number that nobody can read, and ends when it may have no more', () => {
    const all = [...times(MAX_REFUSED_STREAMS, refused()), ...times(MAX_RESUMPTIONS, lost())];
    const state = play([...answered, ...all]);
    // One digit, as the address after the stream has it.
    expect(state.resumptions).toBe(MAX_STREAM_NUMBER);
    expect(MAX_STREAM_NUMBER).toBeLessThan(10);
    expect(play([...answered, ...all, refused(), completed]).outcome).toMatchObject({
      status: 'FAILED',
      endReason: 'media_failed',
      billableSeconds: 0,
    });
  });

  it.each<[string, CallEvent]>([
    ['the carrier has ended', completed],
    ['somebody wants ended', { type: 'hang_up_requested', cause: 'api_hangup', now: T + 8_000 }],
    ['has no money left', { type: 'hang_up_requested', cause: 'balance_exhausted', now: T + 8_000 }],
    [
      'said goodbye',
      { type: 'media_ended', end: { reason: 'agent_hangup', at: T + 8_000, agentAudioPlayed: true }, now: T + 8_000 },
    ],
  ])('is hung up when it is one that %s, and its end stays what it was', (_, end) => {
    const before = play([...answered, end]);
    expect(answerReconnect(before)).toEqual({ decision: 'hang_up', why: 'over' });
    expect(play([...answered, end, lost()])).toEqual(before);
  });

  it('is hung up when it is final', () => {
    const state = play([...answered, completed, { type: 'media_wait_over', now: T + 17_000 }]);
    expect(state.outcome).toBeDefined();
    expect(answerReconnect(state)).toEqual({ decision: 'hang_up', why: 'over' });
  });

  it('ends as the carrier says when it went on', () => {
    expect(play([...answered, lost(), completed, { type: 'media_wait_over', now: T + 17_000 }]).outcome).toMatchObject({
      status: 'COMPLETED',
      endReason: 'callee_hangup',
      billableSeconds: 10,
    });
  });
});
