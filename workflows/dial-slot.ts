import { CancellationScope, condition } from '@temporalio/workflow';
import { isUnwanted } from '../src/calls/call-outcome.js';
import { isFinal } from '../src/kernel/call-state.js';
import { takeDialSlotWithin } from './activity-proxies.js';
import type { CallRun } from './call-run.js';

/** Timeout in case workers are down. The activity itself gives up after `LONGEST_DIAL_WAIT_MS`. */
const GIVE_UP_AFTER_MS = 65_000;

/** A dial slot, in ms of the database server's clock; without `slotAt` the rate is unlimited and any time will do. */
export type DialTurn = { slotAt?: number } | undefined;

/**
 * Waits for a dial slot, at most one minute over all attempts of the call. The call is IDLE during the first wait.
 * @returns undefined if there was no slot in time or the call was cancelled: then nothing may be dialed
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
    // The slot and the cancellation may arrive in the same workflow task.
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
