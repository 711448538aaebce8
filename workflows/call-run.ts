import { defineSearchAttributeKey } from '@temporalio/common';
import { setCurrentDetails, workflowInfo } from '@temporalio/workflow';
import { reduceCall } from '../src/calls/call-reducer.js';
import { newCall, type CallState, type EndReason } from '../src/kernel/call-state.js';
import type { CallEffect, CallEvent } from '../src/calls/call-events.js';
import type { Activities } from '../activities/create-activities.js';
import type { CallInput, CallResult, ReservationResult } from '../src/kernel/call-signals.js';
import { carrierActivities, runRecordedStep } from './activity-proxies.js';
import { describeCall } from './details.js';

const AGENT_ID = defineSearchAttributeKey('AgentId', 'KEYWORD');

type HoldResult = Awaited<ReturnType<Activities['extendHold']>>;

export type CallRun = ReturnType<typeof createCallRun>;

/**
 * Creates the state of one workflow run. Applies events to the call, performs their effects, and numbers the writes to
 * the read model.
 */
export function createCallRun(input: CallInput) {
  let state: CallState = newCall(input.direction);
  if (input.carrierSid !== undefined) state = { ...state, carrierSid: input.carrierSid };
  let sequence = 0;
  const tasks = new Set<Promise<void>>();

  const run = {
    input,
    /** The agent's id, which no step needs. The API sets it as a search attribute when it starts the call. */
    agentId: workflowInfo().typedSearchAttributes.get(AGENT_ID),
    reservation: undefined as ReservationResult | undefined,
    /** Seconds of talk held so far. */
    heldSeconds: 0,
    /** Number of the next window to hold. */
    nextWindow: 1,
    /** Why there are no further windows; undefined while there may be one. */
    noMoreWindows: undefined as EndReason | undefined,
    /** Whether the carrier was asked to limit the time of an inbound call. */
    isLimited: false,
    /** Why the last hold was rejected; undefined if none was. */
    holdRejection: undefined as HoldResult['refusal'],
    billedSeconds: undefined as number | undefined,
    /** When the current wait for a dial slot began; undefined while the call is not waiting. */
    waitingSince: undefined as number | undefined,
    /** Total time spent waiting to dial. */
    waitedMs: 0,
    /** How long the carrier queues the call before it dials it. */
    queuedMs: 0,
    /** Whether the callee's phone may have rung, because the carrier has accepted the call or may have. */
    mayHaveRung: false,
    /** Whether the media server has reported that the conversation's result is stored. */
    resultStored: false,

    get state(): CallState {
      return state;
    },

    /** Applies one event to the state and starts its effects. */
    apply(event: CallEvent): void {
      const reduction = reduceCall(state, event);
      state = reduction.state;
      reduction.effects.forEach(perform);
      run.describe();
    },

    /** Updates the call's details in the Temporal UI. Adds no event to the history. */
    describe(): void {
      setCurrentDetails(describeCall(run));
    },

    /** The call at the carrier, as activities take it; undefined while it has no call. */
    placedCall() {
      const { mode, carrierAccountId } = input;
      const { carrierSid } = state;
      return carrierSid === undefined ? undefined : { mode, carrierSid, ...accountOfInput(carrierAccountId) };
    },

    /** Starts the next read model write, numbered so that a late or repeated one is dropped. */
    nextChange() {
      return { callId: input.callId, sequence: ++sequence, at: Date.now() };
    },

    /** Runs work in the background. The workflow waits for it before it returns. */
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
    // The reservation has already stored the call as RINGING.
    if (state.status === 'RINGING') return;
    const { status, answeredAt, answeredBy, carrierSid } = state;
    // If the first hold pays for the maximum duration, the time of the forced end is known from the start.
    const { maxDurationSeconds } = input;
    const endsAfterSeconds = run.heldSeconds >= maxDurationSeconds ? { endsAfterSeconds: maxDurationSeconds } : {};
    await runRecordedStep('projectCall', {
      ...run.nextChange(),
      status,
      ...(answeredAt === undefined ? {} : { startTime: answeredAt }),
      ...(answeredBy === undefined ? {} : { answeredBy }),
      ...(carrierSid === undefined ? {} : { carrierSid }),
      ...endsAfterSeconds,
    });
  }

  async function hangUp(): Promise<void> {
    const placed = run.placedCall();
    if (placed === undefined) return;
    // Ignore a failure, because `waitForEnd` asks the carrier again and repeats the hang-up.
    await carrierActivities.hangUpCall(placed).catch(() => undefined);
  }

  return run;
}

/** Calls of earlier releases, and calls from browsers, have no stored account. */
export function accountOfInput(carrierAccountId: string | undefined): { carrierAccountId?: string } {
  return carrierAccountId === undefined ? {} : { carrierAccountId };
}
