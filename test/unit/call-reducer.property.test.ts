import fc from 'fast-check';
import { newCall, type CallState, type Direction } from '../../src/kernel/call-state';
import { reduceCall } from '../../src/calls/call-reducer';
import type { CallEvent } from '../../src/calls/call-events';
import { sidOf } from '../support/sids.js';

const T = 1_700_000_000_000;
const SID = sidOf('CA', 0);

interface Story {
  direction: Direction;
  events: CallEvent[];
}

/**
 * Consistent events of one answered call from the carrier and the media server, in the order in which they usually
 * happen.
 */
const answeredCall: fc.Arbitrary<Story> = fc
  .record({
    direction: fc.constantFrom<Direction>('outbound', 'inbound'),
    seconds: fc.integer({ min: 1, max: 14_400 }),
    ringMs: fc.integer({ min: 0, max: 60_000 }),
    reason: fc.constantFrom(
      'carrier_stop' as const,
      'agent_hangup' as const,
      'silence' as const,
      'media_failed' as const,
      'transferred' as const,
    ),
    agentAudioPlayed: fc.boolean(),
    carrierTellsAnswer: fc.boolean(),
  })
  .map(({ direction, seconds, ringMs, reason, agentAudioPlayed, carrierTellsAnswer }) => {
    const answer = T + ringMs;
    const end = answer + seconds * 1_000;
    const now = end + 500;
    const events: CallEvent[] = [
      { type: 'media_started', at: answer + 200, now },
      { type: 'media_ended', end: { reason, at: end, agentAudioPlayed }, now },
      { type: 'carrier_ended', carrierSid: SID, end: { status: 'completed', at: end, durationSeconds: seconds }, now },
    ];
    if (carrierTellsAnswer) events.unshift({ type: 'carrier_answered', carrierSid: SID, at: answer, now });
    return { direction, events };
  });

const unansweredCall: fc.Arbitrary<Story> = fc
  .record({
    direction: fc.constant<Direction>('outbound'),
    status: fc.constantFrom('busy' as const, 'failed' as const, 'no-answer' as const, 'canceled' as const),
    sipCode: fc.constantFrom(404, 484, 486, 487, 503, 600, 603),
  })
  .map(({ direction, status, sipCode }) => ({
    direction,
    events: [{ type: 'carrier_ended', carrierSid: SID, end: { status, at: T + 9_000, sipCode }, now: T + 9_100 }],
  }));

/** The events of a call, each repeated up to three times, in any order. */
const scrambled = fc.oneof(answeredCall, unansweredCall).chain((story) =>
  fc
    .array(fc.integer({ min: 1, max: 3 }), { minLength: story.events.length, maxLength: story.events.length })
    .map((counts) => story.events.flatMap((event, i) => Array.from({ length: counts[i] ?? 1 }, () => event)))
    .chain((copies) => fc.shuffledSubarray(copies, { minLength: copies.length, maxLength: copies.length }))
    .map((events) => ({ story, events })),
);

function run(direction: Direction, events: CallEvent[]): CallState[] {
  let state = reduceCall(newCall(direction), { type: 'reserved', now: T }).state;
  const states = [state];
  for (const event of events) states.push((state = reduceCall(state, event).state));
  return states;
}

describe('the events of one consistent call, in any order and with any duplicates', () => {
  it('lead to the same final state and bill', () => {
    fc.assert(
      fc.property(scrambled, ({ story, events }) => {
        const inOrder = run(story.direction, story.events).at(-1)?.outcome;
        expect(inOrder).toBeDefined();
        expect(run(story.direction, events).at(-1)?.outcome).toEqual(inOrder);
      }),
      { numRuns: 3_000 },
    );
  });

  it('never leave a final state or move to an earlier one', () => {
    const rank = { IDLE: 0, RINGING: 1, IN_PROGRESS: 2, COMPLETED: 3, FAILED: 3, CANCELLED: 3 };
    fc.assert(
      fc.property(scrambled, ({ story, events }) => {
        const states = run(story.direction, events);
        for (const [i, state] of states.entries()) {
          const before = states[i - 1];
          if (before === undefined) continue;
          expect(rank[state.status]).toBeGreaterThanOrEqual(rank[before.status]);
          if (before.outcome) expect(state).toBe(before);
        }
      }),
      { numRuns: 1_000 },
    );
  });

  it('bill the carrier’s duration if the call is COMPLETED, and nothing otherwise', () => {
    fc.assert(
      fc.property(scrambled, ({ story, events }) => {
        const outcome = run(story.direction, events).at(-1)?.outcome;
        const end = story.events.find((event) => event.type === 'carrier_ended');
        const counted = end?.type === 'carrier_ended' ? (end.end.durationSeconds ?? 0) : 0;
        expect(outcome?.billableSeconds).toBe(outcome?.status === 'COMPLETED' ? counted : 0);
      }),
      { numRuns: 1_000 },
    );
  });
});
