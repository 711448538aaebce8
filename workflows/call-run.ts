import { setCurrentDetails } from '@temporalio/workflow';
import { reduceCall } from '../src/calls/call-reducer.js';
import { newCall, type CallState } from '../src/kernel/call-state.js';
import type { CallEffect, CallEvent } from '../src/calls/call-events.js';
import type { Activities } from '../activities/create-activities.js';
import type { CallInput, CallResult, ReservationAnswer } from '../src/kernel/call-signals.js';
import { durable, recorded } from './activity-proxies.js';
import { describeCall } from './details.js';

type HoldAnswer = Awaited<ReturnType<Activities['extendHold']>>;

export type CallRun = ReturnType<typeof createCallRun>;

/** What one run of the workflow knows and does: the call's state, the effects of events, and the count of its writes. */
export function createCallRun(input: CallInput) {
  let state: CallState = newCall(input.direction);
  if (input.carrierSid !== undefined) state = { ...state, carrierSid: input.carrierSid };
  let sequence = 0;
  const tasks = new Set<Promise<void>>();

  const run = {
    input,
    reservation: undefined as ReservationAnswer | undefined,
    /** Seconds of talk that are paid for so far. */
    heldSeconds: 0,
    /** Why no more could be held; undefined while nothing was refused. */
    shortOf: undefined as HoldAnswer['refusal'],
    billedSeconds: undefined as number | undefined,
    /** Since when the call waits for its turn to be dialed; undefined while it does not. */
    waitingSince: undefined as number | undefined,
    /** What it has waited for turns so far. */
    waitedMs: 0,
    /** The carrier took the call, or may have: its callee's phone may have rung. */
    mayHaveRung: false,
    /** The media server said that the conversation's result is stored. */
    resultStored: false,

    get state(): CallState {
      return state;
    },

    /** Takes one event through the reducer and sets its effects going. */
    apply(event: CallEvent): void {
      const reduction = reduceCall(state, event);
      state = reduction.state;
      reduction.effects.forEach(perform);
      run.describe();
    },

    /** Brings the operator's page of the call up to date; costs no event. */
    describe(): void {
      setCurrentDetails(describeCall(run));
    },

    /** The next write of the read model, numbered so that a late or repeated one is dropped. */
    nextChange() {
      return { callId: input.callId, sequence: ++sequence, at: Date.now() };
    },

    /** Lets work go on beside the story; it is waited for before the workflow returns. */
    track(work: Promise<void>): void {
      tasks.add(work);
      void work.finally(() => tasks.delete(work)).catch(() => undefined);
    },

    async tasksDone(): Promise<void> {
      await Promise.allSettled(tasks);
    },

    result(): CallResult {
      return {
        reservation: run.reservation ?? { outcome: 'expired' },
        ...(state.outcome ? { status: state.outcome.status, endReason: state.outcome.endReason } : {}),
        ...(run.billedSeconds === undefined ? {} : { billedSeconds: run.billedSeconds }),
      };
    },
  };

  run.describe();

  function perform(effect: CallEffect): void {
    if (effect.type === 'project') run.track(project());
    if (effect.type === 'hang_up') run.track(hangUp());
  }

  async function project(): Promise<void> {
    // The reservation has written the first document, RINGING, itself.
    if (state.status === 'RINGING') return;
    const { status, answeredAt, answeredBy, carrierSid } = state;
    // A call that may last no longer than its first window knows its end from the start.
    const { maxDurationSeconds } = input;
    const endsAfterSeconds = run.heldSeconds >= maxDurationSeconds ? { endsAfterSeconds: maxDurationSeconds } : {};
    await recorded('projectCall', {
      ...run.nextChange(),
      status,
      ...(answeredAt === undefined ? {} : { startTime: answeredAt }),
      ...(answeredBy === undefined ? {} : { answeredBy }),
      ...(carrierSid === undefined ? {} : { carrierSid }),
      ...endsAfterSeconds,
    });
  }

  async function hangUp(): Promise<void> {
    if (state.carrierSid === undefined) return;
    // A refusal is no end of the story: whoever waits for the call's end asks the carrier and hangs up again.
    await durable.hangUpCall({ mode: input.mode, carrierSid: state.carrierSid }).catch(() => undefined);
  }

  return run;
}
