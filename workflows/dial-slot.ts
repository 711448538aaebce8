import { CancellationScope, condition } from '@temporalio/workflow';
import { isUnwanted } from '../src/calls/call-outcome.js';
import { isFinal } from '../src/kernel/call-state.js';
import { takeDialSlotWithin } from './activity-proxies.js';
import type { CallRun } from './call-run.js';

/** `LONGEST_DIAL_WAIT_MS` is counted by the activity, which says so when it is over; this bound is for dead workers. */
const GIVE_UP_AFTER_MS = 65_000;

/** A turn to dial: at this time of the database's clock, or at any where the carrier's rate is not limited. */
export type DialTurn = { slotAt?: number } | undefined;

/**
 * Waits for the call's turn to be dialed, in all its tries not longer than a minute. The first wait is seen as IDLE.
 * @returns undefined when none came in time, or nobody wants the call any more: then nothing may be dialed
 */
export async function awaitTurn(call: CallRun): Promise<DialTurn> {
  const { callId, accountId, mode, paced } = call.input;
  if (paced !== true) return {};
  const unwanted = () => isFinal(call.state) || isUnwanted(call.state);
  const askedAt = Date.now();
  const { waitedMs } = call;
  const shown = call.state.status === 'IDLE' ? { waiting: call.nextChange(), dialing: call.nextChange() } : undefined;
  const scope = new CancellationScope();
  let answered = false;
  void condition(() => answered || unwanted()).then(() => {
    if (!answered) scope.cancel();
  });
  call.waitingSince = askedAt;
  call.describe();
  try {
    const { slotAt } = await scope.run(() =>
      takeDialSlotWithin(Math.max(1, GIVE_UP_AFTER_MS - waitedMs))({
        callId,
        accountId,
        mode,
        waitedMs,
        ...(shown === undefined ? {} : { shown }),
      }),
    );
    // Both may have come with the same task.
    if (unwanted()) return undefined;
    return slotAt === null ? {} : { slotAt };
  } catch {
    return undefined;
  } finally {
    answered = true;
    call.waitedMs += Date.now() - askedAt;
    call.waitingSince = undefined;
    call.describe();
  }
}
