import { newCall, type CallState, type Direction } from '../../src/kernel/call-state';
import { givenUpAt } from '../../src/kernel/resumption';
import { reduceCall } from '../../src/calls/call-reducer';
import type { CallEffect, CallEvent } from '../../src/calls/call-events';
import { sidOf } from '../support/sids.js';

const T = 1_700_000_000_000;
const SID = sidOf('CA', 0);

function play(direction: Direction, events: CallEvent[]): { state: CallState; effects: CallEffect['type'][] } {
  let state = newCall(direction);
  const effects: CallEffect['type'][] = [];
  for (const event of events) {
    const reduction = reduceCall(state, event);
    state = reduction.state;
    effects.push(...reduction.effects.map(({ type }) => type));
  }
  return { state, effects };
}

const reserved: CallEvent = { type: 'reserved', now: T };
const accepted: CallEvent = { type: 'dial_accepted', carrierSid: SID, now: T + 100 };
const answered: CallEvent = { type: 'carrier_answered', carrierSid: SID, at: T + 2_000, now: T + 2_100 };
const streaming: CallEvent = { type: 'media_started', at: T + 2_300, now: T + 2_400 };
const carrierEnded = (status: 'completed' | 'busy' | 'failed' | 'no-answer' | 'canceled', more = {}): CallEvent => ({
  type: 'carrier_ended',
  carrierSid: SID,
  end: { status, at: T + 12_000, ...more },
  now: T + 12_100,
});
const mediaEnded = (
  reason: 'carrier_stop' | 'agent_hangup' | 'silence' | 'media_failed' | 'transferred',
  played = true,
): CallEvent => ({
  type: 'media_ended',
  end: { reason, at: T + 11_900, agentAudioPlayed: played },
  now: T + 12_000,
});
const hangUp = (
  cause: 'api_hangup' | 'operator_cancel' | 'no_answer' | 'max_duration',
  now = T + 5_000,
): CallEvent => ({
  type: 'hang_up_requested',
  cause,
  now,
});
const gaveUpAfter = (after: number): CallEvent => ({ type: 'given_up', at: T + 9_000, after, now: T + 9_100 });
const lostStream: CallEvent = { type: 'stream_lost', at: T + 8_000, agentAudioPlayed: true, now: T + 8_100 };
const gaveUp = (): CallEvent => ({ type: 'given_up', at: T + 9_000, now: T + 9_100 });
const completed = carrierEnded('completed', { durationSeconds: 10 });

describe('the status of a call', () => {
  it('changes from IDLE to RINGING with the reservation and to IN_PROGRESS with the answer', () => {
    expect(play('outbound', []).state.status).toBe('IDLE');
    expect(play('outbound', [reserved]).state.status).toBe('RINGING');
    expect(play('outbound', [reserved, accepted]).state.status).toBe('RINGING');
    expect(play('outbound', [reserved, accepted, answered]).state.status).toBe('IN_PROGRESS');
  });

  it('becomes IN_PROGRESS with the media stream; the carrier corrects the answer time later', () => {
    const byStream = play('outbound', [reserved, streaming]).state;
    expect(byStream).toMatchObject({ status: 'IN_PROGRESS', answeredAt: T + 2_300 });
    expect(play('outbound', [reserved, streaming, answered]).state.answeredAt).toBe(T + 2_000);
  });

  it('clamps the carrier’s answer time to between the dial and now', () => {
    const early: CallEvent = { type: 'carrier_answered', carrierSid: SID, at: T - 9_000, now: T + 50 };
    const late: CallEvent = { type: 'carrier_answered', carrierSid: SID, at: T + 90_000, now: T + 50 };
    expect(play('outbound', [reserved, early]).state.answeredAt).toBe(T);
    expect(play('outbound', [reserved, late]).state.answeredAt).toBe(T + 50);
  });

  it('never changes after a final status', () => {
    const { state } = play('outbound', [reserved, accepted, carrierEnded('busy')]);
    for (const event of [answered, streaming, completed, mediaEnded('silence'), hangUp('api_hangup')]) {
      expect(reduceCall(state, event)).toEqual({ state, effects: [] });
    }
  });
});

describe('the end of a call', () => {
  const outcomeOf = (direction: Direction, ...events: CallEvent[]) => play(direction, events).state.outcome;

  it.each([
    ['busy', undefined, 'busy'],
    ['busy', 486, 'busy'],
    ['failed', 600, 'busy'],
    ['failed', 603, 'rejected'],
    ['busy', 603, 'rejected'],
    ['failed', 404, 'invalid_number'],
    ['failed', 484, 'invalid_number'],
    ['failed', 487, 'no_answer'],
    ['failed', 503, 'carrier_failed'],
    ['failed', undefined, 'carrier_failed'],
    ['no-answer', undefined, 'no_answer'],
  ] as const)('is FAILED at no cost after %s with SIP code %s: %s', (status, sipCode, endReason) => {
    const end = carrierEnded(status, sipCode === undefined ? {} : { sipCode });
    expect(outcomeOf('outbound', reserved, accepted, end)).toMatchObject({
      status: 'FAILED',
      endReason,
      billableSeconds: 0,
    });
  });

  it('waits for the media process and bills the carrier’s duration of a completed call', () => {
    const before = play('outbound', [reserved, accepted, answered, streaming, completed]);
    expect(before.state.outcome).toBeUndefined();
    expect(
      outcomeOf('outbound', reserved, accepted, answered, streaming, completed, mediaEnded('carrier_stop')),
    ).toEqual({
      status: 'COMPLETED',
      endReason: 'callee_hangup',
      endedAt: T + 12_000,
      billableSeconds: 10,
      estimated: false,
    });
  });

  it('stops waiting for the media process after a timeout', () => {
    const outcome = outcomeOf('outbound', reserved, accepted, answered, completed, { type: 'media_wait_over', now: T });
    expect(outcome).toMatchObject({ status: 'COMPLETED', endReason: 'callee_hangup', billableSeconds: 10 });
  });

  it('takes the end reason from our own hang-up, or else from the media process', () => {
    const connectedCall = [reserved, accepted, answered, streaming];
    expect(outcomeOf('outbound', ...connectedCall, mediaEnded('silence'), completed)?.endReason).toBe('silence');
    expect(outcomeOf('outbound', ...connectedCall, mediaEnded('agent_hangup'), completed)?.endReason).toBe(
      'agent_hangup',
    );
    expect(outcomeOf('inbound', ...connectedCall, mediaEnded('carrier_stop'), completed)?.endReason).toBe(
      'caller_hangup',
    );
    const byTimer = outcomeOf(
      'outbound',
      ...connectedCall,
      hangUp('max_duration'),
      mediaEnded('carrier_stop'),
      completed,
    );
    expect(byTimer).toMatchObject({ status: 'COMPLETED', endReason: 'max_duration' });
  });

  it('follows the transfer, and the bill covers the transferred time', () => {
    const transferred = [reserved, accepted, answered, streaming, mediaEnded('transferred')];
    expect(play('outbound', transferred)).toMatchObject({ state: { status: 'IN_PROGRESS' } });
    const end: CallEvent = {
      type: 'carrier_ended',
      carrierSid: SID,
      end: { status: 'completed', at: T + 302_000, durationSeconds: 300 },
      now: T + 302_100,
    };
    const whole = { status: 'COMPLETED', endedAt: T + 302_000, billableSeconds: 300, estimated: false };
    expect(outcomeOf('outbound', ...transferred, end)).toEqual({ ...whole, endReason: 'callee_hangup' });
    expect(outcomeOf('inbound', ...transferred, end)).toEqual({ ...whole, endReason: 'caller_hangup' });
    const ended = outcomeOf('outbound', ...transferred, hangUp('max_duration', T + 300_000), end);
    expect(ended).toEqual({ ...whole, endReason: 'max_duration' });
  });

  it('is billed by our own clock after a transfer if the carrier never reports the end', () => {
    const transferred = [reserved, accepted, answered, streaming, mediaEnded('transferred')];
    expect(outcomeOf('outbound', ...transferred, { type: 'carrier_lost', now: T + 62_000 })).toMatchObject({
      status: 'COMPLETED',
      billableSeconds: 60,
      estimated: true,
    });
  });

  it('is media_failed if we gave the call up without another reason, even if the carrier reports nothing', () => {
    const connectedCall = [reserved, accepted, answered, streaming];
    const over: CallEvent = { type: 'media_wait_over', now: T + 17_000 };
    const whole = { status: 'COMPLETED', endReason: 'media_failed', billableSeconds: 10 };
    expect(outcomeOf('outbound', ...connectedCall, gaveUp(), completed, over)).toMatchObject(whole);
    expect(outcomeOf('outbound', ...connectedCall, gaveUp(), mediaEnded('agent_hangup'), completed)).toMatchObject({
      endReason: 'agent_hangup',
    });
    const ofGrant = [...connectedCall, lostStream, gaveUpAfter(0), completed, over];
    expect(outcomeOf('outbound', ...ofGrant)).toMatchObject(whole);
    const lost: CallEvent = { type: 'carrier_lost', now: T + 60_000 };
    expect(outcomeOf('outbound', ...connectedCall, gaveUp(), lost)).toMatchObject({
      ...whole,
      endedAt: T + 9_000,
      billableSeconds: 7,
      estimated: true,
    });
  });

  it.each([
    ['before its first stream', [gaveUpAfter(-1), streaming], undefined],
    ['after a stream that another one followed', [streaming, gaveUpAfter(0), lostStream], undefined],
    ['after its last stream', [streaming, lostStream, gaveUpAfter(1)], T + 9_000],
    ['after both of its streams', [streaming, lostStream, gaveUpAfter(0), gaveUpAfter(1)], T + 9_000],
    ['for good, by an API process of an earlier release', [streaming, gaveUp(), gaveUpAfter(0), lostStream], T + 9_000],
  ])('counts as given up %s only if no later stream continued it, in any order', (_, events, at) => {
    for (const order of [events, [...events].reverse()]) {
      expect(givenUpAt(play('outbound', [reserved, accepted, ...order]).state)).toBe(at);
    }
  });

  it('is FAILED / media_failed at no cost before the callee has heard the agent, COMPLETED and billed after', () => {
    const connectedCall = [reserved, accepted, answered, streaming];
    expect(outcomeOf('outbound', ...connectedCall, mediaEnded('media_failed', false), completed)).toMatchObject({
      status: 'FAILED',
      endReason: 'media_failed',
      billableSeconds: 0,
    });
    expect(outcomeOf('outbound', ...connectedCall, mediaEnded('media_failed', true), completed)).toMatchObject({
      status: 'COMPLETED',
      endReason: 'media_failed',
      billableSeconds: 10,
    });
  });

  it('is CANCELLED after a cancel before the answer, COMPLETED after a later cancel', () => {
    expect(outcomeOf('outbound', reserved, accepted, hangUp('api_hangup'), carrierEnded('canceled'))).toMatchObject({
      status: 'CANCELLED',
      endReason: 'api_hangup',
      billableSeconds: 0,
    });
    const afterAnswer = [
      reserved,
      accepted,
      answered,
      streaming,
      hangUp('operator_cancel'),
      mediaEnded('carrier_stop'),
    ];
    expect(outcomeOf('outbound', ...afterAnswer, completed)).toMatchObject({
      status: 'COMPLETED',
      endReason: 'operator_cancel',
    });
  });

  it('is CANCELLED without a dial after a cancel before the dial', () => {
    expect(outcomeOf('outbound', hangUp('api_hangup'))).toMatchObject({ status: 'CANCELLED', endReason: 'api_hangup' });
    const duringDial = play('outbound', [
      reserved,
      hangUp('api_hangup'),
      { type: 'dial_failed', endReason: 'carrier_unreachable', now: T },
    ]);
    expect(duringDial.state.outcome).toMatchObject({ status: 'CANCELLED', endReason: 'api_hangup' });
  });

  it('is FAILED / no_answer after our ring timeout', () => {
    expect(outcomeOf('outbound', reserved, accepted, hangUp('no_answer'), carrierEnded('canceled'))).toMatchObject({
      status: 'FAILED',
      endReason: 'no_answer',
    });
  });

  it('is CANCELLED if the carrier reports completed for a call that we ended while it rang', () => {
    const events = [
      reserved,
      accepted,
      hangUp('api_hangup'),
      completedWithout(),
      { type: 'media_wait_over', now: T } as const,
    ];
    expect(outcomeOf('outbound', ...events)).toMatchObject({ status: 'CANCELLED', billableSeconds: 0 });
  });

  it('is CANCELLED at no cost when an inbound caller hangs up before the media stream', () => {
    const wait: CallEvent = { type: 'media_wait_over', now: T };
    expect(outcomeOf('inbound', reserved, completed, wait)).toMatchObject({
      status: 'CANCELLED',
      endReason: 'caller_hangup',
      billableSeconds: 0,
    });
  });

  it('is billed by an estimate if the carrier stops reporting an answered call, and free if it only rang', () => {
    const lost: CallEvent = { type: 'carrier_lost', now: T + 90_000 };
    expect(
      outcomeOf('outbound', reserved, accepted, answered, streaming, mediaEnded('carrier_stop'), lost),
    ).toMatchObject({
      status: 'COMPLETED',
      billableSeconds: 10,
      estimated: true,
    });
    expect(outcomeOf('outbound', reserved, accepted, lost)).toMatchObject({
      status: 'FAILED',
      endReason: 'carrier_unreachable',
      billableSeconds: 0,
    });
  });

  function completedWithout(): CallEvent {
    return carrierEnded('completed', { durationSeconds: 0 });
  }
});

describe('the effects of events', () => {
  it('include one hang-up at the carrier, as soon as there is a call to hang up', () => {
    expect(play('outbound', [reserved, hangUp('api_hangup')]).effects).not.toContain('hang_up');
    const late = play('outbound', [reserved, hangUp('api_hangup'), accepted, hangUp('operator_cancel')]);
    expect(late.effects.filter((effect) => effect === 'hang_up')).toHaveLength(1);
    expect(late.state.hangUpCause).toBe('api_hangup');
  });

  it('include no hang-up of a call that is over', () => {
    const { effects } = play('outbound', [reserved, accepted, answered, completed, hangUp('api_hangup')]);
    expect(effects).not.toContain('hang_up');
  });

  it('include one projection per status, even if its event is repeated', () => {
    const { effects } = play('outbound', [reserved, reserved, accepted, answered, answered, streaming, streaming]);
    expect(effects.filter((effect) => effect === 'project')).toHaveLength(2);
  });
});
